(ns throng.protocol
  "websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is the
  answer to a message that belongs to neither. Only a broadcast has to be told apart: these return what its sender gets
  besides its own copy, and nil for anything else."
  (:require [clojure.data.json :as json]
            [clojure.string :as str])
  (:import (java.nio ByteBuffer)))

(set! *warn-on-reflection* true)

;; The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
(def ^:private header-bytes 5)
(def ^:private time-bytes 8)

(defn text-result [text]
  ;; Plain text is echoed at full speed: an exception for each message would cost more than the echo.
  (when (str/starts-with? text "{")
    (try
      (let [message (json/read-str text)]
        (when (= "broadcast" (get message "type"))
          (json/write-str (assoc message "type" "broadcastResult"))))
      (catch Exception _ nil))))

(defn binary-result [^ByteBuffer data]
  (let [size (.remaining data)]
    (when (and (>= size (+ header-bytes time-bytes))
               (= (.get data 0) (byte \b))
               (= (Integer/toUnsignedLong (.getInt data 1)) (- size header-bytes)))
      (doto (ByteBuffer/allocate size)
        (.put (.duplicate data))
        (.put 0 (byte \r))
        (.flip)))))
