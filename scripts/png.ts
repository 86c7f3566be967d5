/**
 * Compresses a screenshot to a third: a palette of 256 colours, chosen by frequency and distance, and each pixel mapped
 * to the nearest of them. Pages have few colours; the others come from font smoothing, where the difference is not
 * visible. For browser screenshots only: 8 bits per channel, RGB or RGBA, not interlaced.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const RGB = 2
const RGBA = 6
const PALETTE = 3
const COLOURS = 256
/** Colours nearer than this, in the sum of squares, share a place. */
const NEAR = 24

type Picture = { width: number; height: number; colours: Uint32Array }

export function smallerPng(png: Buffer): Buffer {
  const picture = readPng(png)
  const palette = paletteOf(picture.colours)
  return writePng(picture, palette)
}

function readPng(png: Buffer): Picture {
  const pieces: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') pieces.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const [depth, type, , , interlaced] = png.subarray(24, 29)
  if (depth !== 8 || (type !== RGB && type !== RGBA) || interlaced) throw new Error('This is no PNG of a screenshot.')
  const channels = type === RGBA ? 4 : 3
  return { width, height, colours: coloursIn(inflateSync(Buffer.concat(pieces)), { width, height, channels }) }
}

/** Undoes the filter of each line; a colour is one number. */
function coloursIn(data: Buffer, { width, height, channels }: { width: number; height: number; channels: number }) {
  const stride = width * channels
  const colours = new Uint32Array(width * height)
  let above = Buffer.alloc(stride)
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1)
    const filter = data[start]!
    const line = Buffer.from(data.subarray(start + 1, start + 1 + stride))
    for (let x = 0; x < stride; x++) line[x]! += predicted(filter, x, { line, above, channels })
    for (let x = 0; x < width; x++) colours[y * width + x] = line.readUIntBE(x * channels, 3)
    above = line
  }
  return colours
}

type Around = { line: Buffer; above: Buffer; channels: number }

/** The prediction of a PNG filter: the byte to the left, above, their mean, or the nearest of the three neighbours. */
function predicted(filter: number, x: number, { line, above, channels }: Around): number {
  const left = x >= channels ? line[x - channels]! : 0
  const up = above[x]!
  if (filter === 0) return 0
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  const corner = x >= channels ? above[x - channels]! : 0
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

function paletteOf(colours: Uint32Array): number[] {
  const counts = new Map<number, number>()
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const palette: number[] = []
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length === COLOURS) break
    if (!palette.some(known => distance(known, colour) < NEAR)) palette.push(colour)
  }
  return palette
}

function distance(a: number, b: number): number {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 0xff) - ((b >> 8) & 0xff), (a & 0xff) - (b & 0xff)]
  return red * red + green * green + blue * blue
}

function writePng({ width, height, colours }: Picture, palette: readonly number[]): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, PALETTE, 0, 0, 0], 8)
  const places = new Map<number, number>()
  const placeOf = (colour: number) => {
    const known = places.get(colour)
    if (known !== undefined) return known
    const place = nearest(palette, colour)
    places.set(colour, place)
    return place
  }
  const lines = Buffer.alloc((width + 1) * height)
  for (const [i, colour] of colours.entries()) lines[i + Math.floor(i / width) + 1] = placeOf(colour)
  const table = Buffer.from(palette.flatMap(colour => [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]))
  const data = deflateSync(lines, { level: 9, memLevel: 9 })
  const chunks = [chunk('IHDR', head), chunk('PLTE', table), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([SIGNATURE, ...chunks])
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0
  for (const place of palette.keys()) {
    if (distance(palette[place]!, colour) < distance(palette[best]!, colour)) best = place
  }
  return best
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}
