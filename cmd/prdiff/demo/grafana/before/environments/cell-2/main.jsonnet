(import 'logs.libsonnet') { _config+:: { distributors: 6, memberlist: true } }
