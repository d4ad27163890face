-- The text index of blocksweep in SQLite: trigrams of the texts of servers. Triggers keep it up to date.
create virtual table server_text using fts5 (
  name, motd_plain, map, software, content = '', contentless_delete = 1, tokenize = 'trigram'
);

insert into server_text (rowid, name, motd_plain, map, software)
select id, name, motd_plain, map, software from servers;

create trigger server_text_insert after insert on servers begin
  insert into server_text (rowid, name, motd_plain, map, software)
  values (new.id, new.name, new.motd_plain, new.map, new.software);
end;

create trigger server_text_update after update of name, motd_plain, map, software on servers
when (old.name, old.motd_plain, old.map, old.software)
  is not (new.name, new.motd_plain, new.map, new.software)
begin
  update server_text set name = new.name, motd_plain = new.motd_plain, map = new.map,
    software = new.software where rowid = new.id;
end;

create trigger server_text_delete after delete on servers begin
  delete from server_text where rowid = old.id;
end;
