(ns throng.server
  "An echo and broadcast server on http-kit."
  (:require [org.httpkit.server :as http]
            [throng.protocol :as protocol])
  (:import (java.util Set)
           (java.util.concurrent ConcurrentHashMap))
  (:gen-class))

(set! *warn-on-reflection* true)

(def ^:private message-bytes-max (* 16 1024 1024))
(def ^:private close-grace-ms 1000)

(defonce ^:private ^Set clients (ConcurrentHashMap/newKeySet))

(defn- receive [client message]
  (let [result (protocol/broadcast-result message)]
    (when result
      (run! #(http/send! % message) clients))
    (http/send! client (or result message))))

(defn- handle [{:keys [uri websocket?] :as request}]
  (cond
    (and websocket? (= uri "/ws")) (http/as-channel request
                                                    {:on-open #(.add clients %)
                                                     :on-receive receive
                                                     :on-close (fn [client _] (.remove clients client))})
    (= uri "/") {:status 200, :body ""}
    :else {:status 404, :body ""}))

(defn- stop
  "Says goodbye to every client, and stops, at most after the grace."
  [server]
  (run! http/close clients)
  (deref (http/server-stop! server {:timeout close-grace-ms}) close-grace-ms nil))

(defn -main []
  (let [server (http/run-server handle
                                {:ip (or (System/getenv "HOST") "127.0.0.1")
                                 :port (parse-long (or (System/getenv "PORT") "3334"))
                                 :max-ws message-bytes-max
                                 :legacy-return-value? false})]
    (.addShutdownHook (Runtime/getRuntime) (Thread. #(stop server)))))
