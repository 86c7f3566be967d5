#!/usr/bin/env node
/*
 * The program itself, in a language that every Node understands: on one that is too old it says what to do, in one
 * line. In a checkout it runs the source, in the package what was built from it.
 */
'use strict'

var major = Number(process.versions.node.split('.')[0])

if (major < 24) {
  console.error(
    'palimpsest: Node ' + process.versions.node + ' is too old; install Node 24 or newer from https://nodejs.org (UNSUPPORTED)'
  )
  process.exitCode = 8
} else {
  // Node keeps what it compiled: a second start takes a third of the time.
  require('module').enableCompileCache()
  var source = require('path').join(__dirname, '../src/cli.ts')
  require(require('fs').existsSync(source) ? source : '../dist/cli.js')
}
