// The page of an app that is recorded, and its client: GET /page/ is pages/MODE.html beside the server, and paths below it are files of
// the server's packages.
import { readFileSync } from 'node:fs'

/** Serves the page of a mode; `beside`: the URL of the server's module. */
export const page = (server, mode, beside) => server.on('request', ({ url }, reply) => {
  if (!url.startsWith('/page/')) return
  const file = url.slice('/page/'.length)
  const [path, type] = file === '' ? [`pages/${mode}.html`, 'text/html'] : [`node_modules/${file}`, 'text/javascript']
  reply.setHeader('Content-Type', type)
  reply.end(readFileSync(new URL(path, beside)))
})
