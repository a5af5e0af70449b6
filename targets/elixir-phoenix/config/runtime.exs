import Config

{:ok, ip} = System.get_env("HOST", "127.0.0.1") |> to_charlist() |> :inet.parse_address()

config :benchmark, BenchmarkWeb.Endpoint,
  server: true,
  # Nothing is signed with it: there are neither sessions nor cookies.
  secret_key_base: String.duplicate("a key that keeps no secret ", 3),
  # Whoever measures is no browser, and has no origin of ours.
  check_origin: false,
  http: [
    ip: ip,
    port: String.to_integer(System.get_env("PORT", "3334")),
    thousand_island_options: [
      num_connections: :infinity,
      shutdown_timeout: 1_000,
      transport_options: [backlog: 4096]
    ]
  ]
