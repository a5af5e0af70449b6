// Centrifugo's own client beside throng: `node client.js PORT`. Says `ok` once it has heard a line of throng in room-0, and what it
// published elsewhere.
import process from 'node:process'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'

const fail = setTimeout(() => process.exit(1), 30_000)
const client = new Centrifuge(`ws://127.0.0.1:${process.argv[2]}/connection/websocket`, { websocket: WebSocket })
const heard = async (channel) => {
  const subscription = client.newSubscription(channel)
  const publication = new Promise((resolve) => subscription.once('publication', ({ data }) => resolve(data)))
  const subscribed = new Promise((resolve) => subscription.once('subscribed', resolve))
  subscription.subscribe()
  await subscribed
  return { subscription, publication }
}
client.connect()
const room = await heard('room-0')
const elsewhere = await heard('elsewhere')
await elsewhere.subscription.publish({ text: 'hello' })
if ((await elsewhere.publication).text !== 'hello') throw new Error('another greeting')
if (!(await room.publication).text.startsWith('throng-')) throw new Error('no line of throng')
clearTimeout(fail)
client.disconnect()
console.log('ok')
process.exit(0)
