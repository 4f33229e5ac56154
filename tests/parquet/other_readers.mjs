// other_readers.mjs FOLDER RECIPE: FOLDER/run has tables of four ranks. Two readers find the same in them, and every query of the recipe runs.
import fs from "node:fs";
import path from "node:path";
import duckdb from "@duckdb/node-api";
import {asyncBufferFromFile, parquetReadObjects} from "hyparquet";
import {compressors} from "hyparquet-compressors";

const [folder, recipe] = process.argv.slice(2).map(x => path.resolve(x));
const queries = fs.readFileSync(recipe, "utf8").split("\n").reduce((blocks, line) => {
  if (line.startsWith("    ")) blocks[blocks.length - 1].push(line.trim()); else blocks.push([]);
  return blocks;
}, [[]]).map(x => x.join("\n")).filter(x => /^(select|with|create)/.test(x)).flatMap(x => x.split(";")).map(x => x.trim()).filter(Boolean);
process.chdir(folder);

const connection = await (await duckdb.DuckDBInstance.create()).connect();
const ask = async text => (await connection.runAndReadAll(text)).getRowObjects();
let failed = 0;
const expect = (what, found, expected) => {
  const [a, b] = [found, expected].map(x => JSON.stringify(x, (_, value) => typeof value === "bigint" ? String(value) : value));
  if (a !== b) { failed++; console.log(`${what}: ${a} instead of ${b}`); }
};

for (const table of ["calls", "operations", "ranges", "processes"]) {
  const files = fs.readdirSync(`run/${table}`, {recursive: true}).filter(x => x.endsWith(".parquet")).map(x => `run/${table}/${x}`).sort();
  expect(`files of ${table}`, files.length, 4);
  for (const file of files) {
    const rows = await parquetReadObjects({file: await asyncBufferFromFile(file), compressors});
    const same = await ask(`select * from read_parquet('${file}', hive_partitioning = false)`);
    expect(file, rows.map(x => Object.values(x)), same.map(x => Object.values(x)));
  }
  const [{ranks}] = await ask(`select count(distinct rank) as ranks from read_parquet('run/${table}/**/*.parquet', hive_partitioning = true)`);
  if (table !== "ranges") expect(`ranks of ${table}`, ranks, 4n);
}
for (const query of queries) {
  try {
    const rows = await ask(query);
    if (!query.startsWith("create")) console.log(`${String(rows.length).padStart(6)} rows: ${query.split("\n")[0].slice(0, 100)}`);
  } catch (error) {
    failed++;
    console.log(`${query}\n  ${error.message}`);
  }
}
console.log(`${queries.length} queries; ${failed} failed`);
process.exit(failed ? 1 : 0);
