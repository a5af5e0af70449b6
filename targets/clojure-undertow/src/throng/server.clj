(ns throng.server
  "An echo and broadcast server on Undertow."
  (:require [throng.protocol :as protocol])
  (:import (io.undertow Handlers Undertow)
           (io.undertow.server HttpHandler)
           (io.undertow.websockets WebSocketConnectionCallback WebSocketProtocolHandshakeHandler)
           (io.undertow.websockets.core AbstractReceiveListener BufferedBinaryMessage BufferedTextMessage
                                        WebSocketChannel WebSockets)
           (java.nio ByteBuffer)
           (org.xnio Options)))

(set! *warn-on-reflection* true)

(def ^:private message-bytes-max (* 16 1024 1024))
(def ^:private backlog 4096)
(def ^:private close-grace-ms 1000)
(def ^:private going-away (int 1001))

(defn- answer
  "Sends the message back; if it has a result it is a broadcast, and everyone gets it, and the sender the result."
  [send ^WebSocketChannel channel message result]
  (when result
    (run! #(send % message) (.getPeerConnections channel)))
  (send channel (or result message)))

(defn- send-text [channel text]
  (WebSockets/sendText ^String text ^WebSocketChannel channel nil))

(defn- send-binary [channel ^ByteBuffer data]
  (WebSockets/sendBinary (.duplicate data) ^WebSocketChannel channel nil))

(defn- copy
  "The message's bytes in a buffer of their own: those they came in go back to their pool."
  ^ByteBuffer [^BufferedBinaryMessage message]
  (with-open [pooled (.getData message)]
    (let [data (WebSockets/mergeBuffers (.getResource pooled))]
      (doto (ByteBuffer/allocate (.remaining data))
        (.put data)
        (.flip)))))

(defn- listener []
  (proxy [AbstractReceiveListener] []
    (getMaxTextBufferSize [] message-bytes-max)
    (getMaxBinaryBufferSize [] message-bytes-max)
    (onFullTextMessage [channel ^BufferedTextMessage message]
      (let [text (.getData message)]
        (answer send-text channel text (protocol/text-result text))))
    (onFullBinaryMessage [channel ^BufferedBinaryMessage message]
      (let [data (copy message)]
        (answer send-binary channel data (protocol/binary-result data))))))

(defn- web-sockets ^WebSocketProtocolHandshakeHandler []
  (Handlers/websocket
   (reify WebSocketConnectionCallback
     (onConnect [_ _ channel]
       (.set (.getReceiveSetter channel) (listener))
       (.resumeReceives channel)))))

(defn- home []
  (reify HttpHandler
    (handleRequest [_ exchange]
      (.endExchange exchange))))

(defn- stop
  "Says goodbye to every client and waits until they have left, at most as long as the grace."
  [^Undertow server ^WebSocketProtocolHandshakeHandler clients]
  (doseq [client (.getPeerConnections clients)]
    (WebSockets/sendClose (int going-away) "" ^WebSocketChannel client nil))
  (loop [waited-ms 0]
    (when (and (seq (.getPeerConnections clients)) (< waited-ms close-grace-ms))
      (Thread/sleep 10)
      (recur (+ waited-ms 10))))
  (.stop server))

(defn -main []
  (let [host (or (System/getenv "HOST") "127.0.0.1")
        port (parse-long (or (System/getenv "PORT") "3334"))
        clients (web-sockets)
        server (-> (Undertow/builder)
                   (.addHttpListener port host)
                   (.setSocketOption Options/BACKLOG (int backlog))
                   (.setHandler (-> (Handlers/path)
                                    (.addExactPath "/" (home))
                                    (.addExactPath "/ws" clients)))
                   (.build))]
    (.addShutdownHook (Runtime/getRuntime) (Thread. #(stop server clients)))
    (.start server)))
