# frozen_string_literal: true

require_relative "app"

BenchmarkApp.initialize!
run BenchmarkApp
