// Pusher's own client and library beside throng: `node client.js PORT`. The client signs for private-room-0 as a server would for it, and
// says `ok` once it has heard a line of throng there, and an event that the library has triggered, which the server told it alone.
import crypto from 'node:crypto'
import process from 'node:process'
import Pusher from 'pusher'
import PusherClient from 'pusher-js'

const [key, secret, port] = ['app-key', 'app-secret', Number(process.argv[2])]
const fail = setTimeout(() => process.exit(1), 30_000)
const customHandler = ({ socketId, channelName }, done) => {
  const signed = crypto.createHmac('sha256', secret).update(`${socketId}:${channelName}`).digest('hex')
  done(null, { auth: `${key}:${signed}` })
}
const client = new PusherClient(key, {
  cluster: '', wsHost: '127.0.0.1', wsPort: port, forceTLS: false, enabledTransports: ['ws'], disableStats: true,
  channelAuthorization: { customHandler },
})
const heard = (channel, event) => new Promise((resolve) => channel.bind(event, resolve))
const subscribed = (name) => new Promise((resolve, reject) => {
  const channel = client.subscribe(name)
  channel.bind('pusher:subscription_succeeded', () => resolve(channel))
  channel.bind('pusher:subscription_error', reject)
})

const room = await subscribed('private-room-0')
const line = heard(room, 'client-line')
const elsewhere = await subscribed('private-elsewhere')
const event = heard(elsewhere, 'greeting')
const application = new Pusher({ appId: 'app-id', key, secret, host: '127.0.0.1', port: String(port), useTLS: false })
const answer = await application.trigger('private-elsewhere', 'greeting', { text: 'hello' })
if (!answer.ok || (await event).text !== 'hello') throw new Error(`${answer.status}`)
const forged = new Pusher({ appId: 'app-id', key, secret: 'another', host: '127.0.0.1', port: String(port), useTLS: false })
if (await forged.trigger('private-elsewhere', 'greeting', {}).then(() => true, () => false)) throw new Error('a wrong signature was taken')
if (!(await line).text.startsWith('throng-')) throw new Error('no line of throng')
clearTimeout(fail)
client.disconnect()
console.log('ok')
process.exit(0)
