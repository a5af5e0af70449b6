(defproject throng/clojure-aleph "1"
  :description "An echo and broadcast server on Aleph"
  :dependencies [[org.clojure/clojure "1.12.6"]
                 [org.clojure/data.json "2.5.2"]
                 [aleph "0.9.10"]
                 [manifold "0.5.0"]]
  :target-path "build"
  :uberjar-name "server.jar"
  :main throng.server
  :profiles {:uberjar {:aot :all}})
