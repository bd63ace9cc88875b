(import 'logs.libsonnet') { _config+:: { distributors: 140 } }
