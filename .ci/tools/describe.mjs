// Takes out of GitHub's OpenAPI description what prdiff may ask for, without what
// is answered: a whole description takes Prism a minute to read.
//
//   node describe.mjs api.github.com.deref.json github.json
import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
const all = JSON.parse(readFileSync(from, "utf8"));
const ours = /^\/repos\/\{owner\}\/\{repo\}\/(issues|pulls|check-runs|code-scanning\/sarifs|commits\/\{commit_sha\}\/pulls)(\/|$)/;
const paths = {};
for (const [path, operations] of Object.entries(all.paths)) {
  if (!ours.test(path)) continue;
  paths[path] = {};
  for (const [method, { operationId, parameters, requestBody }] of Object.entries(operations)) {
    paths[path][method] = { operationId, parameters, requestBody, responses: { default: { description: "any" } } };
  }
}
if (Object.keys(paths).length < 10) throw new Error(`${from} describes only ${Object.keys(paths).length} paths of ours`);
const example = (key, value) => (key === "example" || key === "examples" ? undefined : value);
writeFileSync(to, JSON.stringify({ openapi: all.openapi, info: all.info, paths }, example));
