# frozen_string_literal: true

class RoomsController < ApplicationController
  skip_before_action :require_login, only: %i[seen lines]
  before_action :set_room, only: %i[show chat]

  def index; end

  # With Turbo.
  def show; end

  # As data.
  def chat; end

  # Who has been in which rooms: not of a chat, but of an example that wants to be looked into.
  def seen
    render json: Visit.rooms_by_user
  end

  def lines
    render json: Line.counts
  end

  private

  def set_room
    @room = params[:id]
  end
end
