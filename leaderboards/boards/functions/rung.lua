#!lua name=rung_4

-- The boards of one (mode, shard) in one generation, all in one slot.
-- KEYS[1] state: a hash with `mark` (number of the last stamped batch that the boards show), `at` (when), `broken` (an act
--         failed half-way: only filling anew helps), `boards` (how many sizes there are) and, while it is being filled
--         and has no mark, `filling`. Whatever we do to boards begins with a HSET on it and ends with a HDEL, or a DEL:
--         who listens to the server's key events tells by that what somebody else has done (boards/guard.py).
-- KEYS[2] sizes: a hash board → "members:expires:distinct keys". A board dropped or trimmed behind our back differs from it.
-- KEYS[3…] boards: sorted sets, member = 8 bytes of the inverted player pk, score = place (a whole number within 2^53).
-- For dense ranks each board has `<board>:k` (its distinct keys) and `<board>:n` (how many members have each).
-- Every answer begins with a word: "ok", "done", "gap", "missing" (not built, or lost), "broken".

local MOST = 4000 -- arguments of one call; unpack has a limit
local FORGOTTEN = 8 -- sizes that are looked at, with every change, for boards that have expired

local function expired(expires)
  return expires > 0 and tonumber(redis.call('TIME')[1]) >= expires
end

local function altered(sizes, board)
  local known = redis.call('HGET', sizes, board)
  local members, expires, distinct = 0, 0, 0
  if known then
    local count, at, keys = string.match(known, '^(%d+):(%d+):(%d+)$')
    if not count then return true end
    members, expires, distinct = tonumber(count), tonumber(at), tonumber(keys)
  end
  local same = redis.call('ZCARD', board) == members
  if distinct > 0 then -- what dense ranks are counted from can be lost on its own
    same = same and redis.call('ZCARD', board .. ':k') == distinct and redis.call('HLEN', board .. ':n') == distinct
  end
  return not same and not expired(expires)
end

-- what stands in the way of touching these boards; nil and the mark where nothing does
local function obstacle(keys)
  local state = redis.call('HMGET', keys[1], 'mark', 'broken', 'at', 'boards')
  if state[2] then return {'broken'} end
  if not state[1] then return {'missing'} end
  if redis.call('HLEN', keys[2]) ~= tonumber(state[4] or 0) then return {'broken'} end -- what boards should be is lost
  for index = 3, #keys do
    if altered(keys[2], keys[index]) then return {'broken'} end
  end
  return nil, tonumber(state[1]), state[3] or '0'
end

local function whole(number)
  return type(number) == 'number' and number == math.floor(number) and math.abs(number) <= 9007199254740992
end

local function well_formed(change, boards)
  if type(change) ~= 'table' or not whole(change[1]) or change[1] < 1 or change[1] > boards then return false end
  if not whole(change[2]) or type(change[3]) ~= 'table' or type(change[4]) ~= 'table' or #change[3] % 2 ~= 0 then
    return false
  end
  for index = 1, #change[3], 2 do
    if not whole(change[3][index]) or type(change[3][index + 1]) ~= 'string' then return false end
  end
  return true
end

local function in_chunks(list, act)
  for from = 1, #list, MOST do
    act(unpack(list, from, math.min(from + MOST - 1, #list)))
  end
end

local function count_key(board, key, by)
  local name = string.format('%.0f', key)
  local left = redis.call('HINCRBY', board .. ':n', name, by)
  if left <= 0 then
    redis.call('HDEL', board .. ':n', name)
    redis.call('ZREM', board .. ':k', name)
  elseif by > 0 and left == 1 then
    redis.call('ZADD', board .. ':k', key, name)
  end
end

local function move_key(board, member, place, width)
  local old = redis.call('ZSCORE', board, member)
  local before = old and math.floor(tonumber(old) / width)
  local after = place and math.floor(place / width)
  if before == after then return end
  if after then count_key(board, after, 1) end
  if before then count_key(board, before, -1) end
end

-- width: how many places one key has; 0 where ranks are not dense
local function change_board(sizes, board, expires, put, drop, width)
  if width > 0 then
    for index = 1, #put, 2 do
      move_key(board, put[index + 1], put[index], width)
      redis.call('ZADD', board, put[index], put[index + 1])
    end
    for _, member in ipairs(drop) do
      move_key(board, member, nil, width)
      redis.call('ZREM', board, member)
    end
  else
    in_chunks(put, function(...) redis.call('ZADD', board, ...) end)
    in_chunks(drop, function(...) redis.call('ZREM', board, ...) end)
  end
  if expires > 0 then
    for _, key in ipairs({board, board .. ':k', board .. ':n'}) do redis.call('EXPIREAT', key, expires) end
  end
  local distinct = width > 0 and redis.call('ZCARD', board .. ':k') or 0
  local members = redis.call('ZCARD', board)
  if members == 0 then return redis.call('HDEL', sizes, board) end
  redis.call('HSET', sizes, board, string.format('%.0f:%.0f:%.0f', members, expires, distinct))
end

-- a few with every change, so that there are never many more than boards
local function forget_expired(sizes, most)
  for _, board in ipairs(redis.call('HRANDFIELD', sizes, most)) do
    local expires = tonumber(string.match(redis.call('HGET', sizes, board), '^%d+:(%d+):%d+$') or 0)
    if expired(expires) and redis.call('EXISTS', board) == 0 then redis.call('HDEL', sizes, board) end
  end
end

-- … are names and values to remember in the state
local function change_all(keys, changes, width, ...)
  for _, change in ipairs(changes) do
    if not well_formed(change, #keys - 2) then return redis.error_reply('MALFORMED batch') end
  end
  redis.call('HSET', keys[1], 'broken', 1) -- taken back at the end; an error in between leaves it
  for _, change in ipairs(changes) do
    change_board(keys[2], keys[change[1] + 2], change[2], change[3], change[4], width)
  end
  forget_expired(keys[2], FORGOTTEN + 2 * #changes)
  redis.call('HSET', keys[1], 'boards', redis.call('HLEN', keys[2]), ...)
  redis.call('HDEL', keys[1], 'broken')
end

-- apply: one stamped batch, whole, once.
-- ARGV number, at, width, msgpack [[board, expires, [place, member, …], [dropped member, …]], …]
-- returns {"ok"|"done"|"gap", mark}, {"missing"}, {"broken"}
local function apply(keys, args)
  local number = tonumber(args[1])
  local stands, mark = obstacle(keys)
  if stands then return stands end
  if number <= mark then return {'done', mark} end
  if number > mark + 1 then return {'gap', mark} end
  return change_all(keys, cmsgpack.unpack(args[4]), tonumber(args[3]), 'mark', number, 'at', args[2]) or {'ok', number}
end

-- begin: an emptied generation is going to be filled, by whoever knows the token. ARGV token. returns {"ok"}
local function begin(keys, args)
  redis.call('HSET', keys[1], 'broken', 1) -- so that there is something to delete, and listeners hear of it
  redis.call('DEL', keys[1])
  redis.call('HSET', keys[1], 'filling', args[1], 'broken', 1)
  redis.call('HDEL', keys[1], 'broken')
  return {'ok'}
end

-- fill: part of a generation being built, which has no mark yet. ARGV token, width, msgpack as above.
-- returns {"ok"}, {"missing"} where what was filled before is lost, or another has begun
local function fill(keys, args)
  if redis.call('HGET', keys[1], 'filling') ~= args[1] then return {'missing'} end
  return change_all(keys, cmsgpack.unpack(args[3]), tonumber(args[2])) or {'ok'}
end

-- built: the generation shows everything up to a number. ARGV token, number, at. returns {"ok"}, {"missing"}, {"broken"}
local function built(keys, args)
  local state = redis.call('HMGET', keys[1], 'filling', 'broken')
  if state[1] ~= args[1] then return {'missing'} end
  if state[2] then return {'broken'} end
  redis.call('HSET', keys[1], 'mark', args[2], 'at', args[3])
  redis.call('HDEL', keys[1], 'filling')
  return {'ok'}
end

-- distrust: somebody else has changed these boards; only filling anew helps. KEYS state. returns {"ok"}, {"missing"}
local function distrust(keys)
  if redis.call('EXISTS', keys[1]) == 0 then return {'missing'} end
  redis.call('HSET', keys[1], 'broken', 1, 'filling', '') -- who is just filling them is to begin again
  redis.call('HDEL', keys[1], 'filling')
  return {'ok'}
end

redis.register_function('rung_4_begin', begin)
redis.register_function('rung_4_apply', apply)
redis.register_function('rung_4_fill', fill)
redis.register_function('rung_4_built', built)
redis.register_function('rung_4_distrust', distrust)

-- whole: whether boards have as many members as they should. KEYS state, sizes. ARGV how many to look at, about, and where
-- to go on (from "0" to "0"); without, any of them
-- returns {"ok", mark, where to go on}, {"missing"}, {"broken"}
redis.register_function{
  function_name = 'rung_4_whole',
  callback = function(keys, args)
    local stands, mark = obstacle(keys)
    if stands then return stands end
    local following, step, known = '0', 1, nil
    if args[2] then
      local scanned = redis.call('HSCAN', keys[2], args[2], 'COUNT', args[1])
      following, step, known = scanned[1], 2, scanned[2]
    else
      known = redis.call('HRANDFIELD', keys[2], args[1])
    end
    for index = 1, #known, step do
      if altered(keys[2], known[index]) then return {'broken'} end
    end
    return {'ok', mark, following}
  end,
  flags = {'no-writes'},
}

-- reads: KEYS state, sizes, board. Each answers {"ok", mark, at, members, …} or what stands in the way.
local function reading(act)
  return function(keys, args)
    local stands, mark, at = obstacle(keys)
    if stands then return stands end
    local answer = act(keys[3], args)
    table.insert(answer, 1, redis.call('ZCARD', keys[3]))
    table.insert(answer, 1, at)
    table.insert(answer, 1, mark)
    table.insert(answer, 1, 'ok')
    return answer
  end
end

local function read_function(name, act)
  redis.register_function{function_name = name, callback = reading(act), flags = {'no-writes'}}
end

-- byte by byte: `>` asks the server's locale
local function greater(one, other)
  for index = 1, 8 do
    local a, b = string.byte(one, index), string.byte(other, index)
    if a ~= b then return a > b end
  end
  return false
end

-- how many members stand before (place, member), whether or not that one is on this board
local function before(board, place, member)
  local above = redis.call('ZCOUNT', board, '(' .. place, '+inf')
  local low, high = 0, redis.call('ZCOUNT', board, place, place)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if greater(redis.call('ZRANGE', board, above + middle, above + middle, 'REV')[1], member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return above + low
end

-- range: ARGV first, last (ranks from 0). answers [member, place, …]
read_function('rung_4_range', function(board, args)
  return {redis.call('ZRANGE', board, args[1], args[2], 'REV', 'WITHSCORES')}
end)

-- band: entries between two places. ARGV greatest, least, offset, count. answers how many, [member, place, …]
read_function('rung_4_band', function(board, args)
  return {
    redis.call('ZCOUNT', board, args[2], args[1]),
    redis.call('ZRANGE', board, args[1], args[2], 'BYSCORE', 'REV', 'LIMIT', args[3], args[4], 'WITHSCORES'),
  }
end)

-- places: ARGV member… answers [place or "", …]
read_function('rung_4_places', function(board, args)
  local found = {}
  in_chunks(args, function(...)
    for _, place in ipairs(redis.call('ZMSCORE', board, ...)) do found[#found + 1] = place or '' end
  end)
  return {found}
end)

-- before: ARGV place, member, … answers [how many stand before each, …]
read_function('rung_4_before', function(board, args)
  local found = {}
  for index = 1, #args, 2 do found[#found + 1] = before(board, args[index], args[index + 1]) end
  return {found}
end)

-- above: ARGV place… answers [how many have a greater place, …]
read_function('rung_4_above', function(board, args)
  local found = {}
  for _, place in ipairs(args) do found[#found + 1] = redis.call('ZCOUNT', board, '(' .. place, '+inf') end
  return {found}
end)

-- keys_above: ARGV key… answers [how many distinct keys are greater, …]; dense boards only
read_function('rung_4_keys_above', function(board, args)
  local found = {}
  for _, key in ipairs(args) do found[#found + 1] = redis.call('ZCOUNT', board .. ':k', '(' .. key, '+inf') end
  return {found}
end)

-- near: ARGV place, member, how many, …
-- answers [place, how many stand before it, [those just before], [those just after], …], without itself
local function near(board, place, member, most)
  local now, rank = redis.call('ZSCORE', board, member), before(board, place, member)
  if most == 0 then return place, rank, {}, {} end
  local own = now and tonumber(now) == tonumber(place) and 1 or 0 -- it may stand elsewhere by now, or in another shard
  local first = math.max(0, rank - most)
  local ahead = rank > first and redis.call('ZRANGE', board, first, rank - 1, 'REV', 'WITHSCORES') or {}
  return place, rank, ahead, redis.call('ZRANGE', board, rank + own, rank + own + most - 1, 'REV', 'WITHSCORES')
end

read_function('rung_4_near', function(board, args)
  local found = {}
  for index = 1, #args, 3 do
    local last = #found
    found[last + 1], found[last + 2], found[last + 3], found[last + 4] =
      near(board, args[index], args[index + 1], tonumber(args[index + 2]))
  end
  return {found}
end)

-- stand: ARGV how many neighbours, members (8 bytes each, one after the other)
-- answers [how many stand before each, …], [[member, place, …]: each with its neighbours on either side; nothing where it
-- does not stand, …]
read_function('rung_4_stand', function(board, args)
  local most, befores, runs = tonumber(args[1]), {}, {}
  for first = 1, #args[2], 8 do
    local member = string.sub(args[2], first, first + 7)
    local rank, run = redis.call('ZREVRANK', board, member), {}
    if rank and most == 0 then
      run = {member, redis.call('ZSCORE', board, member)}
    elseif rank then
      run = redis.call('ZRANGE', board, math.max(0, rank - most), rank + most, 'REV', 'WITHSCORES')
    end
    befores[#befores + 1], runs[#runs + 1] = rank or 0, run
  end
  return {befores, runs}
end)

-- tally: ARGV width (how many places one key has), most. answers [key, how many members have it, …], best first; of a board
-- with more than `most` members nothing
read_function('rung_4_tally', function(board, args)
  local width, found = tonumber(args[1]), {}
  if redis.call('ZCARD', board) > tonumber(args[2]) then return {found} end
  local entries = redis.call('ZRANGE', board, 0, -1, 'REV', 'WITHSCORES')
  for index = 2, #entries, 2 do
    local key = math.floor(tonumber(entries[index]) / width)
    if found[#found - 1] == key then
      found[#found] = found[#found] + 1
    else
      found[#found + 1] = key
      found[#found + 1] = 1
    end
  end
  return {found}
end)

-- how many members have a greater key, and how many a greater one or this
local function around(board, key, width)
  local least = key * width
  local above = redis.call('ZCOUNT', board, string.format('(%.0f', least + (width - 1)), '+inf')
  return above, redis.call('ZCOUNT', board, string.format('%.0f', least), '+inf')
end

-- around: ARGV width, key… answers [how many have a greater one, how many a greater one or this, …]
read_function('rung_4_around', function(board, args)
  local width, found = tonumber(args[1]), {}
  for index = 2, #args do
    found[2 * index - 3], found[2 * index - 2] = around(board, tonumber(args[index]), width)
  end
  return {found}
end)

-- picks: ARGV width, rank… (from 0, rising). answers [key at that rank, its two numbers as above, …], each key once
read_function('rung_4_picks', function(board, args)
  local width, found, above, upto = tonumber(args[1]), {}, 0, 0
  for index = 2, #args do
    local rank = tonumber(args[index])
    local entry = rank >= upto and redis.call('ZRANGE', board, rank, rank, 'REV', 'WITHSCORES') or {}
    if entry[2] then
      local key = math.floor(tonumber(entry[2]) / width)
      above, upto = around(board, key, width)
      for _, number in ipairs({key, above, upto}) do found[#found + 1] = number end
    end
  end
  return {found}
end)
