// A STOMP broker (stomp-broker-js), over WebSockets or over SockJS. It sends a sender no copy.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const Broker = require('stomp-broker-js')
const { ServerFrame } = require('stomp-broker-js/lib/stomp.js')

/** Serves /ws over this protocol of the broker's. */
export const stomp = (server, counts, protocol) => {
  const broker = new Broker({ server, path: '/ws', protocol, heartbeat: [1000, 1000] })
  broker.addMiddleware('send', (socket, { dest, frame }, next) => {
    counts.said++
    // The sender is one of those in its room.
    counts.sent += broker.subscribes.filter((subscription) => subscription.topic === dest).length - 1
    const isSent = next()
    // The broker itself has receipts for DISCONNECT alone.
    if (frame.headers.receipt) ServerFrame.RECEIPT(socket, frame.headers.receipt)
    return isSent
  })
}
