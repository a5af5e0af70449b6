# frozen_string_literal: true

class RoomsController < ApplicationController
  skip_before_action :require_login, only: %i[seen lines]

  def show
    @room = params[:id]
  end

  # Who has been in which rooms: not of a chat, but of an example that wants to be looked into.
  def seen
    render json: Visit.rooms_by_user
  end

  def lines
    render json: Line.counts
  end
end
