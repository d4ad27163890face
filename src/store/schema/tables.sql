-- The tables of blocksweep, schema version 21. docs/database.md explains them. This is SQL of PostgreSQL
-- (14 or later), except "without rowid". table_statements.ts makes the statements of SQLite from it:
--
--   here                                    in SQLite
--   integer, bigint, xid8                   integer
--   boolean                                 integer: 1 or 0
--   timestamptz                             integer: Unix milliseconds
--   double precision                        real
--   text, uuid, inet                        text
--   jsonb                                   text: JSON
--   bytea                                   blob
--   collate "C": sorted by code point       left out: SQLite sorts all text by code point
--   generated always as identity            left out: SQLite numbers an integer primary key
--   without rowid: rows are in the key      the same; PostgreSQL has no such tables
--   each table                              with the word strict
--
-- A line that begins with "postgres:" or "sqlite:" is for that engine only.

-- The version of the schema: one row.
create table blocksweep_schema (
  version integer not null,               -- 21; versions 1 to 20 had other tables
  identity text not null,                 -- the identity of the database, hexadecimal; a copy has the same
  collector text not null                 -- the identity of its collectors, hexadecimal; `copy` makes another one
);

-- One row per scan or watch, and per scan whose identity was in imported rows.
create table scans (
  id integer generated always as identity primary key,  -- number of the scan, used in other tables
  uuid uuid not null unique,              -- the scan's identity, UUIDv7
  kind text not null,                     -- sweep, watch (also a crawl), lan, import (known from imported rows)
  state text not null,                    -- running, finished, interrupted, failed
  started_at timestamptz,                 -- null: unknown, because the scan was imported
  finished_at timestamptz,                -- end
  parts integer not null default 1,       -- number of parts into which a campaign divides its targets
  config jsonb not null default '{}',     -- the options, without passwords
  probes_sent bigint not null default 0,  -- UDP probes and TCP connection attempts; polls of a watch
  replies bigint not null default 0,      -- replies to probes or polls
  found bigint not null default 0,        -- servers written; servers online at the end of a watch
  heartbeat_at timestamptz,               -- last write of these numbers; null: unknown
  runs integer not null default 1,        -- number of runs: 1, and one more for each resume
  position bigint not null default 0,     -- number of visited positions, in all passes; 0 for a watch
  total bigint not null default 0,        -- number of positions in all passes that are known so far; servers that a watch polls
  ends_at timestamptz,                    -- expected end; null: unknown
  packet_loss double precision,           -- estimated share of lost probes, 0 to 1; null: unknown
  rows_lost bigint not null default 0,    -- rows that could not be written
  rate integer,                           -- rate that --rate auto has found, packets a second; null: not searched
  rate_reason text,                       -- reason for the rate: loss, buffers, sender, limit, searching, unknown
  counters jsonb,                         -- losses by cause, and replies, as in status files; null: unknown
  reported integer not null default 0,    -- number of its events new, back and lost of single servers
  members jsonb                           -- numbers of servers by kind, as in scan_sets; null: it has not finished
);

-- The parts of a campaign's scan of which workers have reported anything. A scan without a campaign has
-- one part, with a row when it is complete. The numbers of the scan are the sums over its parts.
create table scan_parts (
  scan integer not null references scans (id),  -- scans.id
  part integer not null,                  -- number of the part, from 1
  state text not null,                    -- queued, running, done, poisoned (it failed too often), cancelled
  worker text,                            -- the worker that reported last; null: none, or no campaign
  tries integer not null,                 -- how often workers have taken the part
  probes_sent bigint not null,            -- like scans.probes_sent
  replies bigint not null,                -- like scans.replies
  found bigint not null,                  -- like scans.found
  position bigint not null,               -- like scans.position
  total bigint not null,                  -- like scans.total
  packet_loss double precision,           -- like scans.packet_loss
  rows_lost bigint not null,              -- like scans.rows_lost
  why text,                               -- why the last try failed; null: it did not
  floods jsonb,                           -- which replies floods may have hidden, and the vantages of several views; null: none
  updated_at timestamptz not null,        -- when this was reported
  done_at timestamptz,                    -- when the part ended; null: it has not
  decided boolean not null default false, -- whether the part's missing servers are counted
  primary key (scan, part)
) without rowid;

-- The addresses that the user named as targets of a scan, merged, and those of them that it does
-- not probe.
create table scan_ranges (
  scan integer not null,                  -- scans.id
  excluded boolean not null,              -- whether the addresses are not probed
  first inet not null,                    -- first address
  last inet not null,                     -- last address
  widened boolean not null,               -- whether the range may contain addresses outside the original ranges
  sampled boolean not null,               -- whether only some addresses of the range were probed (--adaptive)
  noted_at timestamptz not null,          -- when the scan began to use the range
  primary key (scan, excluded, first)
) without rowid;

-- What a scan that has not finished saw of servers. Packed into scan_sets when the scan finishes.
create table scan_servers (
  scan integer not null,                  -- scans.id
  server integer not null,                -- servers.id
  what integer not null,                  -- sum of: 1 found, 2 new, 4 back, 8 changed, 16 missed, 32 lost
  primary key (scan, server)
) without rowid;

-- What a finished scan saw of servers. A server that is in no set of the scan was not asked by it.
create table scan_sets (
  scan integer not null,                  -- scans.id
  kind text collate "C" not null,         -- found, new, back, changed, missed, lost; of views: seen:VANTAGE, unseen:VANTAGE
  block integer not null,                 -- servers.id / 4096
  servers bytea not null,                 -- the servers of the block: see docs/database.md
  primary key (scan, kind, block)
) without rowid;

create index scan_sets_block on scan_sets (block);

-- One row per server, with the values that rarely change. server_state has the others.
create table servers (
  id integer generated always as identity primary key,  -- number of the server, used in other tables
  key text collate "C" not null unique,   -- what a user types: 192.0.2.1:25565, [2001:db8::1]:19132,
                                          -- play.example.org:25565, play.example.org (SRV record)
  hostname text collate "C",              -- the name in the key, lower case, A-labels; null: none
  is_srv boolean not null,                -- whether an SRV record of the name led to the server
  address inet not null,                  -- the last address; it may change if the server has a hostname
sqlite:   address_sort text not null,             -- the address in a form that sorts by number
  scope text,                             -- zone of a link-local address; null: none
  port integer not null,                  -- the last port
  protocol text not null,                 -- the protocol of the highest rank; empty: never replied
  protocols jsonb not null,               -- all protocols of the last reply: a list of text
  edition text,                           -- bedrock, education, pocket or java
  software text,                          -- server software, and its version if published
  software_key text collate "C",          -- start of software in lower case, for searches
  name text,                              -- the server's own name
  name_key text collate "C" not null,     -- start of the folded name, for sorting; empty: no name
  motd text,                              -- MOTD as sent
  motd_plain text,                        -- MOTD without formatting codes
  version text,                           -- game version, as the server writes it
  version_key text collate "C" not null,  -- sorts 1.9 before 1.21; empty: no version
  protocol_version bigint,                -- protocol number of the game
  map text,                               -- map or level
  gamemode text,                          -- game mode
  plugins jsonb,                          -- a list of {name, version}
  guid text,                              -- RakNet server GUID
  port_v4 bigint,                         -- IPv4 port to join, as advertised
  port_v6 bigint,                         -- IPv6 port to join, as advertised
  flags jsonb not null,                   -- anomalies in the replies: a list of text
  extras jsonb,                           -- each protocol's own facts
  software_confidence text,               -- confidence of software: A, B or C
  proxy text,                             -- proxy in front of the server
  alias_of text,                          -- host:port of the first row of the same server
  requested_as text,                      -- requested name, or NAME SRV HOST:PORT
  joinable boolean,                       -- whether the server accepts RakNet connections
  mtu bigint,                             -- RakNet MTU that the server accepts
  raknet_protocol bigint,                 -- RakNet protocol number
  favicon_hash text,                      -- favicons.hash
  content bytea not null,                 -- 64-bit hash of what the server publishes, without players
  digest bytea not null,                  -- 64-bit hash of all columns that a reply fills
  first_seen timestamptz not null,        -- when the server was first found or imported
  changed_at timestamptz not null,        -- when the database recorded the last change of the content or of online
  notes text,                             -- set by users or by import: no scan or watch changes them
  player_flags jsonb,                     -- rules that flag the number of players, and why: an object; null: none
postgres:   kind_key text collate "C" not null generated always as (case when alias_of is null then '' else 'alias' end || '|' || replace(coalesce(edition, ''), '|', '?') || '|' || replace(coalesce(software_confidence, ''), '|', '?') || '|' || replace(protocols::text, '", "', '","')) stored -- alias or nothing, edition, software_confidence and protocols, joined by |, for searches
sqlite:   kind_key text collate "C" not null generated always as (case when alias_of is null then '' else 'alias' end || '|' || replace(coalesce(edition, ''), '|', '?') || '|' || replace(coalesce(software_confidence, ''), '|', '?') || '|' || protocols) virtual -- alias or nothing, edition, software_confidence and protocols, joined by |, for searches
);

postgres: create index servers_address on servers (address, port, id);
sqlite: create index servers_address on servers (address_sort, port);
postgres: create index servers_port on servers (port, id);
sqlite: create index servers_port on servers (port);
create index servers_hostname on servers (hostname) where hostname is not null;
create index servers_guid on servers (guid) where guid is not null;
postgres: create index servers_software on servers (software_key, id);
sqlite: create index servers_software on servers (software_key);
postgres: create index servers_kind on servers (kind_key, id);
sqlite: create index servers_kind on servers (kind_key);
create index servers_name on servers (name_key, id);
create index servers_version on servers (version_key, id);
create index servers_new on servers (first_seen, id);
create index servers_changed on servers (changed_at, id);

-- One row per server, with the values that each poll writes. In PostgreSQL, half of each page stays
-- free for the row's next version, and no index contains the times of probes and replies. The update
-- of an unchanged server therefore changes no index (a HOT update). Parallel workers are off, because
-- starting them takes longer than reading a page of servers.
create table server_state (
  server integer primary key,             -- servers.id
  scan integer,                           -- scans.id of the last reply
  probed_at timestamptz not null,         -- last probe, with or without a reply
  replied_at timestamptz,                 -- last reply; null: never
  latency_ms double precision,            -- round trip of the last reply, milliseconds
  players_online integer,                 -- players online
  players_max integer,                    -- player slots
  missed_scans integer not null,          -- scans in a row that probed the server without a reply
  online boolean not null,                -- whether the server counts as online
  lacking_parts text not null default '', -- parts that the last replies lacked, and how often: an object; empty: none
  players_mean integer,                   -- mean number of players while online, in hundredths, on the last complete day (UTC) with rollups, or today if there is none; null: not watched then
  within_slots boolean not null generated always as (coalesce(players_online <= players_max or players_max <= 0, true)) stored -- whether there are as many slots as players, or no known number of slots; computed by the database
postgres: ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, parallel_workers = 0);
sqlite: );

create index server_state_players on server_state
postgres:   (online, within_slots, (coalesce(players_online, -1)), server) include (players_online);
sqlite:   (online, within_slots, (coalesce(players_online, -1)), server);
create index server_state_average on server_state
postgres:   (online, within_slots, (coalesce(players_mean, -1)), server) include (players_mean);
sqlite:   (online, within_slots, (coalesce(players_mean, -1)), server);
postgres: create index server_list_players on server_state (players_online desc nulls last);
sqlite: create index server_list_players on server_state (players_online);

-- Players' names as last published, only of servers that publish them.
create table server_players (
  server integer primary key,             -- servers.id
  names jsonb not null,                   -- a list of text
  seen_at timestamptz not null,           -- when the server published them
  same_since timestamptz not null         -- since when it publishes the same names, in any order
);

-- The values of servers.flags, one row each, for searches.
create table server_flags (
  flag text collate "C" not null,         -- the flag
  server integer not null,                -- servers.id
  primary key (flag, server)
) without rowid;

-- Tags of servers, from scans, watches and imports with --tag, and from users of the database.
create table server_tags (
  tag text collate "C" not null,          -- the tag
  server integer not null,                -- servers.id
  primary key (tag, server)
) without rowid;

create index server_tags_server on server_tags (server, tag);

-- What scans and watches saw of a server: see "When an observation is written" in docs/database.md.
create table observations (
  at timestamptz not null,                -- when the server was probed
  server integer not null,                -- servers.id
  scan integer not null,                  -- scans.id
  latency_ms double precision,            -- round trip, milliseconds
  players_online integer,                 -- players online
  players_max integer,                    -- player slots
  online boolean not null,                -- whether the server replied
  content bytea,                          -- servers.content at that time; null without a reply
  polls integer,                          -- polls of the watch since its row before, this one included; 0: of a scan; null: unknown
  primary key (server, at, scan)
) without rowid;

-- Changes of servers, each written once, by the transaction that changed the server's state.
create table events (
postgres:   tx xid8 not null default pg_current_xact_id(),  -- transaction that wrote the event; 0 in SQLite
sqlite:   tx integer not null default 0,          -- transaction that wrote the event; 0 in SQLite
postgres:   seq bigint generated always as identity,  -- order of events of one transaction
sqlite:   seq integer primary key autoincrement,  -- order of events of one transaction
postgres:   primary key (tx, seq),
  id uuid not null unique,                -- the event's identity, UUIDv7
  at timestamptz not null,                -- when the change was detected
  server integer,                         -- servers.id; null: the event is about no single server
  scan integer,                           -- scans.id of the scan or watch that detected it
  kind text collate "C" not null,         -- online, offline, new, back, lost, changed, restarted, opted_out, scan_summary, watcher_offline, watcher_online
  data jsonb not null                     -- further values of the event: an object
);

create index events_server on events (server, at, tx, seq);
create index events_at on events (at, tx, seq, kind);

postgres: -- The number of the oldest transaction that runs in this database; if none runs, that of the next one.
postgres: -- Takes the transactions that were running when the statement began, and leaves out those that are
postgres: -- now seen to belong to another database. A transaction that has ended meanwhile, or that the role does not
postgres: -- see, counts as one of this database. A replica does not know the databases of transactions.
postgres: create view event_horizon as
postgres: select case when pg_is_in_recovery() then pg_snapshot_xmin(snapshot)
postgres:   else least(pg_current_xact_id_if_assigned(), pg_snapshot_xmax(snapshot), (
postgres:     select running from pg_snapshot_xip(snapshot) as running
postgres:     where not exists (
postgres:       select 1 from pg_stat_activity a where a.backend_xid = running::xid and a.datname <> current_database()
postgres:     ) and not exists (
postgres:       select 1 from pg_prepared_xacts p where p.transaction = running::xid and p.database <> current_database()
postgres:     ) order by running limit 1
postgres:   )) end as tx
postgres: from pg_current_snapshot() as snapshot;

-- How far webhooks of watches have sent the events. One watch at a time sends them.
create table webhook_positions (
  webhook text collate "C" not null,      -- hash of the webhook's URL without user and password
  kinds text collate "C" not null,        -- the kinds of events that are sent, with commas
  tx xid8 not null,                       -- events.tx of the last event that was sent or left out
  seq bigint not null,                    -- events.seq of that event
  pruned bigint not null default 0,       -- events that prune removed before they were sent, and that no watch has reported yet
  holder uuid,                            -- scans.uuid of the watch that sends; null: none
  held_until timestamptz not null,        -- after this time another watch may send
  primary key (webhook, kinds)
) without rowid;

-- One row per distinct icon.
create table favicons (
  hash text collate "C" primary key,      -- SHA-256, hexadecimal
  data bytea not null,                    -- the file that the server sent
  first_seen timestamptz not null         -- when it was first received
);

-- The raw bytes of the last reply per server and protocol.
create table replies (
  server integer not null,                -- servers.id
  protocol text collate "C" not null,     -- name of the protocol
  seen_at timestamptz not null,           -- when the reply arrived
  size integer not null,                  -- bytes
  data bytea not null,                    -- its first 32,768 bytes
  primary key (server, protocol)
) without rowid;

-- Addresses that opted out: watches and scans omit them.
create table opt_outs (
  address inet primary key,               -- the address
  noted_at timestamptz not null           -- when a reply first carried the opt-out
);

-- The salt of hashes: one row. Whoever reads it can test whether a hash belongs to a given server.
create table blocksweep_salt (
  salt bytea not null                     -- random bytes that are part of each hash in forgotten and webhook_positions
);

-- Servers that were removed with the command forget: no scan, watch or import restores them.
create table forgotten (
  hash bytea primary key,                 -- SHA-256 of the salt and the server's key, or its address and port
  subject bytea not null,                 -- the hash of the server's address and port, or of its key if they are unknown
  at timestamptz not null                 -- when it was forgotten
) without rowid;

-- When a watch ran: one row per time without interruption. docs/database.md: "Uptime".
create table watch_spans (
  scan integer not null,                  -- scans.id of the watch
  started_at timestamptz not null,        -- start
  ended_at timestamptz not null,          -- end, or the time up to which all results are written
  primary key (scan, started_at)
) without rowid;

-- What watches saw of a server in an hour or a day (UTC).
create table rollups (
  at timestamptz not null,                -- start of the hour or day
  hours integer not null,                 -- 1: an hour; 24: a day
  server integer not null,                -- servers.id
  player_s bigint not null,               -- player seconds: the sum of the times of all players
  watched_s integer not null,             -- seconds watched
  online_s integer not null,              -- seconds watched and online
  players_min integer,                    -- minimum of players online; null: not published
  players_max integer,                    -- maximum of players online; null: not published
  polls integer,                          -- sum of observations.polls; null: unknown
  primary key (hours, at, server)
) without rowid;

-- The uptime in the last 30 days, for lists of servers: one row per server. Computed with the rollups of days;
-- of a server without such rollups, with those of the hours of the current day.
create table server_uptime (
  server integer primary key,             -- servers.id
  until timestamptz,                      -- end of the last of these days or hours; null: not watched
  watched_s integer not null default 0,   -- sum of rollups.watched_s
  online_s integer not null default 0,    -- sum of rollups.online_s
  polls integer default 0,                -- sum of rollups.polls; null: unknown
postgres:   uptime_30d double precision generated always as (online_s::float8 / nullif(watched_s, 0)) stored -- online_s / watched_s; null: not watched; computed by the database
sqlite:   uptime_30d double precision generated always as (cast(online_s as real) / nullif(watched_s, 0)) virtual -- online_s / watched_s; null: not watched; computed by the database
);

postgres: create index server_list_uptime on server_uptime (uptime_30d desc nulls last);
sqlite: create index server_list_uptime on server_uptime (uptime_30d);

-- Sums of rollups by a property of servers: the 1,000 values with the most seconds online, and the rest.
create table rollup_totals (
  at timestamptz not null,                -- start of the hour or day
  hours integer not null,                 -- 1: an hour; 24: a day
  kind text collate "C" not null,         -- edition, software, version, port, protocol
  rank integer not null,                  -- 1: the most seconds online; 0: all values beyond 1,000
  value text,                             -- the value, 64 characters; null: unknown, or rank 0
  servers integer not null,               -- number of watched servers, each address and port once
  player_s bigint not null,               -- sum of rollups.player_s
  watched_s bigint not null,              -- sum of rollups.watched_s
  online_s bigint not null,               -- sum of rollups.online_s
  primary key (hours, at, kind, rank)
) without rowid;

-- Hours whose rollups are to be computed again.
create table dirty_hours (
  hour timestamptz not null,              -- start of the hour
  server integer not null,                -- servers.id; 0: all servers
  next_server integer not null,           -- for server 0: servers with smaller ids are already computed; 2147483647: only the totals are not
  marks integer not null,                 -- how often the hour became dirty since its last computation
  primary key (hour, server)
) without rowid;

-- The times up to which rollups are computed: one row. The year 1970 means that none is computed yet.
create table rollup_state (
  closing_until timestamptz not null,     -- a new row with an earlier time makes its hours dirty
  closed_until timestamptz not null,      -- hours before this time were computed, or are in dirty_hours
  sealed_until timestamptz not null,      -- hours before this time are final: prune removed their rows
  judged_at timestamptz not null          -- when the numbers of players were last judged
);

postgres: insert into rollup_state values ('1970-01-01Z', '1970-01-01Z', '1970-01-01Z', '1970-01-01Z');
sqlite: insert into rollup_state values (0, 0, 0, 0);

-- The uptime of servers in 30 days of which the last one is at most 30 days ago.
create view recent_uptime as
postgres: select server, uptime_30d from server_uptime where until > now() - interval '30 days';
sqlite: select server, uptime_30d from server_uptime where until > unixepoch('now', '-30 days') * 1000;

-- When the addresses of servers opted out. A role may read this view and not the other addresses of opt_outs.
create view opted_out_servers as
select s.id as server, o.noted_at from servers s join opt_outs o on o.address = s.address;

-- The view of servers for other programs: its columns stay when tables change. SQLite has no statistics: the
-- unary plus keeps it from searching an index for "online = 1" and sorting all servers that are online.
create view server_list as
select s.key, s.hostname, s.address, s.port, s.protocols, s.edition, s.software, s.name, s.motd, s.motd_plain,
postgres:   s.version, s.map, s.gamemode, t.online, t.players_online, t.players_max, p.names as players,
sqlite:   s.version, s.map, s.gamemode, +t.online as online, t.players_online, t.players_max, p.names as players,
  t.latency_ms, s.flags,
postgres:   coalesce((select jsonb_agg(g.tag order by g.tag) from server_tags g where g.server = s.id),'[]') as tags,
sqlite:   (select json_group_array(g.tag) from (select g.tag from server_tags g where g.server = s.id order by g.tag) g) as tags,
  s.favicon_hash, s.first_seen, s.changed_at, t.probed_at, t.replied_at,
  t.missed_scans, u.uptime_30d, u.until as uptime_until, p.seen_at as players_at
from servers s join server_state t on t.server = s.id join server_uptime u on u.server = s.id
-- Names of an earlier reply are not the players of an empty server.
left join server_players p on p.server = t.server and (coalesce(t.players_online, 1) <> 0 or p.seen_at >= t.replied_at)
where not exists (select 1 from opt_outs o where o.address = s.address);

-- The numbers of servers, of those online, and of their players: one row. It joins no tables.
create view server_totals as
select count(*) as servers, count(*) filter (where online) as online,
  coalesce(sum(players_online) filter (where online), 0) as players
from server_state;
