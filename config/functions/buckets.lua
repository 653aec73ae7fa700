#!lua name=rung_buckets_1

-- How often somebody may do something. On the plain server, never among the boards.
-- A bucket is one number: the microsecond at which it is full again. It holds `burst` entries and gains one every
-- `interval`: who takes an entry moves that moment one interval on. The key expires once the bucket is full.

local function whole(number)
  return string.format('%.0f', number)
end

-- how many entries there are in each of these buckets
local function left(item, full, limits, at)
  local least = math.huge
  for _, bucket in ipairs(item) do
    local interval, burst = limits[bucket][1], limits[bucket][2]
    least = math.min(least, math.floor((at + burst * interval - full[bucket]) / interval))
  end
  return math.max(least, 0)
end

-- the microseconds until each of these buckets has an entry
local function wait_for(item, full, limits, at)
  local wait = 1
  for _, bucket in ipairs(item) do
    local interval, burst = limits[bucket][1], limits[bucket][2]
    wait = math.max(wait, full[bucket] + interval - burst * interval - at)
  end
  return wait
end

-- KEYS buckets
-- ARGV[1] msgpack {{interval in microseconds, burst}, …}: of each bucket
-- ARGV[2] msgpack {{entries, spare, {bucket, …}}, …}: what each item wants from all of its buckets at once; `spare` more
--   are taken for later, once all items have what they want
-- ARGV[3] the part of what is left then that one item may take for later, as a divisor
-- returns {{taken, …}, {spare, …}, {wait, …}, {debt, …}}: entries for each item; wait is 0 for an item that has all it
-- wanted, else the microseconds until there is one more; debt is the microseconds until each bucket is full.
redis.register_function('rung_buckets_1_take', function(keys, args)
  local time = redis.call('TIME')
  local at = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local limits, items = cmsgpack.unpack(args[1]), cmsgpack.unpack(args[2])
  local full, changed, taken, spares, waits, debts = {}, {}, {}, {}, {}, {}
  local function move(item, entries)
    for _, bucket in ipairs(entries > 0 and item or {}) do
      full[bucket] = full[bucket] + entries * limits[bucket][1]
      changed[bucket] = true
    end
    return entries
  end
  for bucket = 1, #limits do
    local stored = tonumber(redis.call('GET', keys[bucket]) or 0) or 0
    -- never emptier than empty: what is stored may be from a slower rate, or from before the clock was set back
    local empty = at + limits[bucket][2] * limits[bucket][1]
    full[bucket] = math.min(math.max(stored, at), empty)
    changed[bucket] = stored > empty or nil
  end
  for number, item in ipairs(items) do
    taken[number] = move(item[3], math.min(item[1], left(item[3], full, limits, at)))
    waits[number] = taken[number] < item[1] and wait_for(item[3], full, limits, at) or 0
  end
  for number, item in ipairs(items) do
    local most = math.floor(left(item[3], full, limits, at) / tonumber(args[3]))
    spares[number] = move(item[3], math.min(item[2], most))
  end
  for bucket = 1, #limits do
    debts[bucket] = full[bucket] - at
    if changed[bucket] then
      redis.call('SET', keys[bucket], whole(full[bucket]), 'PX', whole(math.ceil(debts[bucket] / 1000)))
    end
  end
  return {taken, spares, waits, debts}
end)
