(defproject throng/clojure-httpkit "1"
  :description "An echo and broadcast server on http-kit"
  :dependencies [[org.clojure/clojure "1.12.6"]
                 [org.clojure/data.json "2.5.2"]
                 [http-kit "2.8.1"]]
  :target-path "build"
  :uberjar-name "server.jar"
  :main throng.server
  :profiles {:uberjar {:aot :all}})
