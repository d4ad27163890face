-- The text index of blocksweep in PostgreSQL: trigrams of the texts of servers. The lower case of the
-- collation of a database depends on its lc_ctype: under C, only ASCII letters change.
create extension if not exists pg_trgm;

create index servers_text on servers using gin (
  lower(name collate "und-x-icu") gin_trgm_ops, lower(motd_plain collate "und-x-icu") gin_trgm_ops,
  lower(map collate "und-x-icu") gin_trgm_ops, lower(software collate "und-x-icu") gin_trgm_ops
);

-- The statistics of the texts: without them, the planner takes every text for a rare one.
analyze servers;
