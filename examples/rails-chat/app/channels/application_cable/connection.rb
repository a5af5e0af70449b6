# frozen_string_literal: true

module ApplicationCable
  # A connection is its user's, whom the session's cookie names.
  class Connection < ActionCable::Connection::Base
    identified_by :current_user

    def connect
      self.current_user = User.find(request.session[:user_id]) || reject_unauthorized_connection
    end
  end
end
