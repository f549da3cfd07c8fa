#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that an old one gets a sentence instead of a syntax error.
import nodeModule from "node:module";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`bonsai needs Node 22.19 or newer; this is ${process.versions.node}.
Update Node, or let npm bring one along for this command alone:
  npm exec --yes --package=node@24 --package=bonsai-agent -- bonsai`);
  process.exit(1);
}
nodeModule.enableCompileCache?.();
await import("../dist/main.mjs");
