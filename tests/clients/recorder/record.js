// Uses an app as two users do, in a Chromium, and writes what each of their network panels exports:
// `node record.js CHROMIUM SCENARIO ORIGIN[,ORIGIN] FILE FILE`; says `ok` at the end. The second origin is the second user's.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { chromium } from 'playwright-core'
import { record } from './har.js'
import { scenarios } from './scenarios.js'

const [executablePath, name, origins, ...files] = process.argv.slice(2)
const resolve = createRequire(import.meta.url).resolve
const { html, use } = scenarios[name]
const [origin, second = origin] = origins.split(',')

// A page that is put in the way of the server's has no address, and might not speak to one on the loopback.
const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets']
const browser = await chromium.launch({ executablePath, args })
try {
  const users = await Promise.all(files.map(async (file, number) => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(120_000)
    page.on('pageerror', (error) => { throw error })
    // Servers without a page of their own get one at their origin, with the official client of their protocol.
    const own = number === 0 ? origin : second
    const goto = page.goto.bind(page)
    page.goto = (url) => goto(url.replace(origin, own))
    await page.route(`${own}/page/**`, (route) => {
      const path = new URL(route.request().url()).pathname.slice('/page/'.length)
      if (path === '') return route.fulfill({ contentType: 'text/html', body: `<!doctype html><title>${name}</title>${html ?? ''}` })
      const file = resolve(`./node_modules/${path}`)
      return route.fulfill({ contentType: 'text/javascript', body: readFileSync(file) })
    })
    return { page, file, number, recording: await record(page) }
  }))
  await use(users, origin)
  for (const { recording, file } of users) await recording.finish(file)
} finally {
  await browser.close()
}
console.log('ok')
