-- The text index of blocksweep in PostgreSQL: trigrams of the texts of servers.
create extension if not exists pg_trgm;

create index servers_text on servers using gin (
  lower(name) gin_trgm_ops, lower(motd_plain) gin_trgm_ops, lower(map) gin_trgm_ops,
  lower(software) gin_trgm_ops
);

-- The statistics of the texts: without them, the planner takes every text for a rare one.
analyze servers;
