-- Gives the roles the passwords of the secrets. Run by the image as superuser, when it has made the
-- data.
\set writer `cat /run/secrets/postgres_writer`
\set reader `cat /run/secrets/postgres_reader`
ALTER ROLE clt_writer PASSWORD :'writer';
ALTER ROLE clt_reader PASSWORD :'reader';
