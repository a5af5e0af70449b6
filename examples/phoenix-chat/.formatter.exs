[
  import_deps: [:phoenix],
  inputs: ["{mix,.formatter}.exs", "{config,lib}/**/*.{ex,exs}"]
]
