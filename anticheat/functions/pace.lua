#!lua name=rung_pace_1

-- How often somebody may do something, and where somebody was last. On the plain server, never among the boards.
-- A bucket is one number: the microsecond at which it will be full again. It holds `burst` entries and gains one every
-- `interval`: who takes one moves that moment an interval on, and may while it stays within `burst` intervals from now.
-- It is gone by itself once it is full.

local function now()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function whole(number)
  return string.format('%.0f', number)
end

-- how long until each of these buckets has an entry left; 0: all have
local function wait_for(item, full, limits, at)
  local wait = 0
  for _, bucket in ipairs(item) do
    local interval, burst = limits[bucket][1], limits[bucket][2]
    wait = math.max(wait, math.max(full[bucket] - at, 0) + interval - burst * interval)
  end
  return wait
end

local function take(keys, limits, items, at)
  local full, waits, changed = {}, {}, {}
  for bucket = 1, #limits do
    full[bucket] = tonumber(redis.call('GET', keys[bucket]) or 0) or 0
  end
  for number, item in ipairs(items) do
    waits[number] = wait_for(item, full, limits, at)
    for _, bucket in ipairs(waits[number] == 0 and item or {}) do
      full[bucket] = math.max(full[bucket], at) + limits[bucket][1]
      changed[bucket] = true
    end
  end
  for bucket in pairs(changed) do
    redis.call('SET', keys[bucket], whole(full[bucket]), 'PX', whole(math.ceil((full[bucket] - at) / 1000)))
  end
  return waits
end

-- where a player was before, and that it is here now; false where that is not known
local function move(key, address, device, seconds, at)
  local before = redis.call('HMGET', key, 'at', 'address', 'device')
  redis.call('HSET', key, 'at', whole(at), 'address', address, 'device', device)
  redis.call('EXPIRE', key, seconds)
  return before[1] and {whole(at - tonumber(before[1])), before[2], before[3]}
end

-- KEYS buckets, then where players were.
-- ARGV[1] msgpack {{interval in microseconds, burst}, …}: of each bucket
-- ARGV[2] msgpack {{bucket, …}, …}: what each item takes an entry from, all of them or none
-- ARGV[3] msgpack {{item, key, address, device, seconds to remember it}, …}: from where items came; '' is not known
-- returns {now, {wait, …}, {before, …}}: wait is 0 for an item that was let through, else the microseconds after which it
-- would be; before is {microseconds since, address, device}, or false: nothing known, or the item not let through.
redis.register_function('rung_pace_1_pass', function(keys, args)
  local at, limits = now(), cmsgpack.unpack(args[1])
  local waits, found = take(keys, limits, cmsgpack.unpack(args[2]), at), {}
  for number, place in ipairs(cmsgpack.unpack(args[3])) do
    local item, key, address, device, seconds = unpack(place)
    found[number] = waits[item] == 0 and move(keys[key], address, device, seconds, at)
  end
  return {whole(at), waits, found}
end)
