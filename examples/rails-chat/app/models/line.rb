# frozen_string_literal: true

# Remembers how many lines were said in each room.
class Line
  @counts = Concurrent::Map.new

  class << self
    def record(room)
      @counts.compute(room) { |count| count.to_i + 1 }
    end

    def counts
      @counts.each_pair.to_h
    end
  end
end
