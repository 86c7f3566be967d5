#!/usr/bin/env node
/*
 * The program itself, in a language that every Node understands: on one that is too old it says what to do, in one
 * line. In a checkout it runs the source, in the package what was built from it.
 */
'use strict'

var path = require('path')
var source = path.join(__dirname, '../src/cli.ts')
var isCheckout = require('fs').existsSync(source)
var version = process.versions.node.split('.')
var major = Number(version[0])
var minor = Number(version[1])

// The source is TypeScript, which Node reads from 24 on; what was built needs node:sqlite without a flag.
var isTooOld = isCheckout ? major < 24 : major < 22 || (major === 22 && minor < 13) || (major === 23 && minor < 4)

if (isTooOld) {
  console.error(
    'palimpsest: Node ' +
      process.versions.node +
      ' is too old; install Node ' +
      (isCheckout ? '24' : '22.13') +
      ' or newer from https://nodejs.org (UNSUPPORTED)'
  )
  process.exitCode = 8
} else {
  if (major < 24) silenceExperimental()
  // Node keeps what it compiled: a second start takes a third of the time.
  require('module').enableCompileCache()
  require(isCheckout ? source : '../dist/cli.js')
}

/** Node 22 warns of node:sqlite on every start, which says nothing to whoever runs this program. */
function silenceExperimental() {
  var emit = process.emitWarning
  process.emitWarning = function (warning, type) {
    if (type !== 'ExperimentalWarning') emit.apply(process, arguments)
  }
}
