// Uses an app as two users do, in a Chromium, and writes what each of their network panels exports:
// `node record.js CHROMIUM SCENARIO ORIGIN[,ORIGIN] FILE FILE`; says `ok` at the end. The second origin is the second user's.

import process from 'node:process'
import { chromium } from 'playwright-core'
import { record } from './har.js'
import { scenarios } from './scenarios.js'

const [executablePath, name, origins, ...files] = process.argv.slice(2)
const { use } = scenarios[name]
const [origin, second = origin] = origins.split(',')

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
try {
  const users = await Promise.all(files.map(async (file, number) => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(120_000)
    page.on('pageerror', (error) => { throw error })
    const own = number === 0 ? origin : second
    const goto = page.goto.bind(page)
    page.goto = (url) => goto(url.replace(origin, own))
    return { page, file, number, recording: await record(page) }
  }))
  await use(users, origin)
  for (const { recording, file } of users) await recording.finish(file)
} finally {
  await browser.close()
}
console.log('ok')
