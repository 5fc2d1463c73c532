-- A ledger in memory: accounts, transfers between them, an index, totals.
PRAGMA cache_size = -100000;
CREATE TABLE accounts(id INTEGER PRIMARY KEY, owner TEXT, balance INTEGER, note BLOB);
CREATE TABLE transfers(id INTEGER PRIMARY KEY, payer INTEGER, payee INTEGER, amount INTEGER);
CREATE INDEX owners ON accounts(owner);
BEGIN;
WITH RECURSIVE n(i, x) AS (
  SELECT 0, 12345 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM n WHERE i < 60000)
INSERT INTO accounts SELECT i, printf('owner %d', x / 7 % 20000), x % 1000, zeroblob(60 + x / 64 % 60) FROM n;
WITH RECURSIVE n(i, x) AS (
  SELECT 1, 54321 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM n WHERE i < 200000)
INSERT INTO transfers SELECT i, x / 7 % 60000, (x / 7 * 31 + i) % 60000, x / 128 % 100 FROM n;
CREATE TRIGGER pay AFTER UPDATE OF amount ON transfers BEGIN
  UPDATE accounts SET balance = balance - new.amount WHERE id = new.payer;
  UPDATE accounts SET balance = balance + new.amount WHERE id = new.payee;
END;
COMMIT;
BEGIN;
UPDATE transfers SET amount = amount + 1;
SELECT owner, count(*), sum(balance) FROM accounts GROUP BY owner ORDER BY 3 DESC LIMIT 10;
CREATE INDEX payees ON transfers(payee, amount);
SELECT sum(a.balance * t.amount) FROM accounts a JOIN transfers t ON t.payee = a.id WHERE a.owner GLOB '*7';
UPDATE transfers SET amount = amount / 2 WHERE id % 3 = 0;
DELETE FROM transfers WHERE amount < 10;
SELECT payer, count(DISTINCT payee) FROM transfers GROUP BY payer ORDER BY 2 DESC LIMIT 10;
COMMIT;
