# frozen_string_literal: true

require_relative "app"

EventsApp.initialize!
run EventsApp
