(ns throng.protocol
  "websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is the
  answer to a message that belongs to neither. Only a broadcast has to be told apart."
  (:require [clojure.data.json :as json]
            [clojure.string :as str])
  (:import (java.nio ByteBuffer)))

(set! *warn-on-reflection* true)

;; The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
(def ^:private header-bytes 5)
(def ^:private time-bytes 8)

(defn- text-result [text]
  ;; Plain text is echoed at full speed: an exception for each message would cost more than the echo.
  (when (str/starts-with? text "{")
    (try
      (let [message (json/read-str text)]
        (when (= "broadcast" (get message "type"))
          (json/write-str (assoc message "type" "broadcastResult"))))
      (catch Exception _ nil))))

(defn- binary-result [^bytes data]
  (let [size (alength data)]
    (when (and (>= size (+ header-bytes time-bytes))
               (= (aget data 0) (byte \b))
               (= (Integer/toUnsignedLong (.getInt (ByteBuffer/wrap data) 1)) (- size header-bytes)))
      (doto (aclone data)
        (aset 0 (byte \r))))))

(defn broadcast-result
  "What the sender of a broadcast gets besides its own copy, or nil if the message, a string or bytes, is no broadcast."
  [message]
  (if (string? message) (text-result message) (binary-result message)))
