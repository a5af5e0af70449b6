(ns throng.server
  "An echo and broadcast server on Aleph."
  (:require [aleph.http :as http]
            [aleph.netty :as netty]
            [manifold.deferred :as d]
            [manifold.stream :as s]
            [throng.protocol :as protocol])
  (:import (io.netty.bootstrap ServerBootstrap)
           (io.netty.channel ChannelOption)
           (java.net InetSocketAddress)
           (java.util Set)
           (java.util.concurrent ConcurrentHashMap))
  (:gen-class))

(set! *warn-on-reflection* true)

(def ^:private message-bytes-max (* 16 1024 1024))
(def ^:private backlog (int 4096))
(def ^:private close-grace-ms 1000)
(def ^:private going-away 1001)

(defonce ^:private ^Set clients (ConcurrentHashMap/newKeySet))

(defn- answer
  "Sends the message back; a broadcast goes to everyone, and its result to the sender. Yields when the sender can take more."
  [client message]
  (let [result (protocol/broadcast-result message)]
    (when result
      (run! #(s/put! % message) clients))
    (s/put! client (or result message))))

(defn- serve [client]
  (.add clients client)
  (s/on-closed client #(.remove clients client))
  (s/consume-async #(answer client %) client)
  nil)

(def ^:private not-a-handshake {:status 400, :body ""})

(defn- upgrade [request]
  (-> (http/websocket-connection request {:max-frame-payload message-bytes-max, :max-frame-size message-bytes-max})
      (d/chain serve)
      (d/catch (constantly not-a-handshake))))

(defn- handle [{:keys [uri] :as request}]
  (case uri
    "/ws" (upgrade request)
    "/" {:status 200, :body ""}
    {:status 404, :body ""}))

(defn- stop
  "Says goodbye to every client and waits until they have left, at most as long as the grace."
  [^java.io.Closeable server]
  (let [goodbyes (mapv #(http/websocket-close! % going-away "") clients)]
    (deref (apply d/zip goodbyes) close-grace-ms nil)
    (.close server)))

(defn -main []
  (let [host (or (System/getenv "HOST") "127.0.0.1")
        port (parse-long (or (System/getenv "PORT") "3334"))
        server (http/start-server handle
                                  {:socket-address (InetSocketAddress. ^String host (int port))
                                   :executor :none
                                   :transport :epoll
                                   :shutdown-timeout 0
                                   :bootstrap-transform #(.option ^ServerBootstrap % ChannelOption/SO_BACKLOG backlog)})]
    (.addShutdownHook (Runtime/getRuntime) (Thread. #(stop server)))
    (netty/wait-for-close server)))
