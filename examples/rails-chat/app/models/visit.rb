# frozen_string_literal: true

# Remembers who has subscribed to which rooms.
class Visit
  @rooms = Concurrent::Map.new

  class << self
    def record(user, room)
      @rooms.compute_if_absent(user.id) { Concurrent::Set.new } << room
    end

    def rooms_by_user
      @rooms.each_pair.to_h { |user, rooms| [user, rooms.to_a.sort] }
    end
  end
end
