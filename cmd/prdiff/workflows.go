package main

// The workflow files that prdiff init writes, by where GitHub Actions looks for them.
const (
	workflowFile     = ".github/workflows/prdiff.yml"
	forkWorkflowFile = ".github/workflows/prdiff-comment.yml"
)

const workflowText = `name: prdiff
on:
  pull_request:
  merge_group:
permissions:
  contents: read
  pull-requests: write   # for the comment; runs of forks have no right to write, whatever stands here
concurrency:
  group: prdiff-${{ github.event.pull_request.number || github.sha }}
  cancel-in-progress: true
jobs:
  prdiff:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 2   # the merge commit and its parents
          persist-credentials: false
      - uses: prdiff/prdiff@v1   # better: the commit of a release
        with:
          fail-on: error
          artifact: prdiff-report   # for forks: prdiff-comment.yml publishes it
`

const forkWorkflowText = `# Comments on pull requests from forks, and from Dependabot. Their runs of the
# workflow prdiff render without any right to write, and leave their report. This one
# has the right, and so it runs nothing of the pull request: no checkout, no cache.
# What it downloads may have been written by anybody: it is read as data, strictly, and
# GitHub says which pull request it belongs to. It takes effect on the default branch.
name: prdiff comment
on:
  workflow_run:
    workflows: [prdiff]
    types: [completed]
permissions: {}
jobs:
  comment:
    if: >-
      github.event.workflow_run.event == 'pull_request' &&
      (github.event.workflow_run.conclusion == 'success' || github.event.workflow_run.conclusion == 'failure') &&
      (github.event.workflow_run.head_repository.full_name != github.repository ||
      github.event.workflow_run.actor.login == 'dependabot[bot]')
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
      actions: read          # the report of the other run
      contents: read         # which pull request its commit belongs to
      pull-requests: write   # the comment
    steps:
      - uses: actions/download-artifact@v4
        with:
          name: prdiff-report
          path: ${{ runner.temp }}/prdiff-report
          run-id: ${{ github.event.workflow_run.id }}
          github-token: ${{ github.token }}
      - uses: prdiff/prdiff@v1   # better: the commit of a release
        with:
          from-fork: ${{ runner.temp }}/prdiff-report
`
