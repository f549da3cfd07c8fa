import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "tsdown";
import { ThirdPartyNotices } from "./third-party.ts";

const mark = "?whole";

/**
 * Extensions get the whole of zod, by a copy of its own: if they shared the command's, all of it would be loaded at each
 * start, extensions or not. Schemas of one copy work with the other, and both have one registry.
 */
const zodOfExtensions = {
  name: "zod-of-extensions",
  resolveId: {
    order: "pre" as const,
    async handler(
      this: { resolve(source: string, importer?: string, options?: object): Promise<{ id: string } | null> },
      source: string,
      importer: string | undefined,
    ) {
      const isWhole = importer?.endsWith(mark) === true;
      const isAsked = /^zod(\/|$)/.test(source) && /[\\/]load[\\/]host-modules\.\w+$/.test(importer ?? "");
      if (!isWhole && !isAsked) return null;
      const from = isWhole ? importer.slice(0, -mark.length) : importer;
      const resolved = await this.resolve(source, from, { skipSelf: true });
      return resolved === null ? null : { id: `${resolved.id}${mark}` };
    },
  },
  load(id: string) {
    if (!id.endsWith(mark)) return null;
    return { code: readFileSync(id.slice(0, -mark.length), "utf8"), moduleType: "js" as const };
  },
};

const notices = new ThirdPartyNotices();
notices.add(JSON.parse(readFileSync("../page/dist/bundled-modules.json", "utf8")));

/** Names the libraries of all bundles in THIRD-PARTY-NOTICES.md. The last bundle to be written completes the file. */
const licences = {
  name: "licences",
  writeBundle(_options: object, bundle: Record<string, { type: string; moduleIds?: readonly string[] }>) {
    for (const { moduleIds = [] } of Object.values(bundle)) notices.add(moduleIds);
    writeFileSync("THIRD-PARTY-NOTICES.md", notices.text());
  },
};

const photon = dirname(
  createRequire(new URL("../pi-adapter/src/modules/images.ts", import.meta.url)).resolve(
    "@silvia-odwyer/photon-node",
  ),
);
notices.add([join(photon, "photon_rs.js")]);

/** MCP's client and server bring a JSON Schema validator of 300 kB. The extension gives its client another one. */
const withoutAjv = {
  name: "without-ajv",
  resolveId: (source: string) =>
    /^@modelcontextprotocol\/(?:client|server)\/_shims$/.test(source) ? { id: "\0mcp-shims" } : null,
  load: (id: string) =>
    id === "\0mcp-shims"
      ? "export { default as process } from 'node:process'; export const CORS_IS_POSSIBLE = false; export class DefaultJsonSchemaValidator {}"
      : null,
};

/** pg can use a native driver; pg-boss brings two libraries of 700 kB for schedules. No command uses them. */
const withoutUnused = {
  name: "without-unused",
  resolveId: (source: string) =>
    /^(pg-native|cron-parser|rrule-temporal)$/.test(source) ? { id: "\0unused" } : null,
  load: (id: string) =>
    id === "\0unused" ? "export class RRuleTemporal {} export class CronExpressionParser {}" : null,
};

const extensionsFolder = fileURLToPath(new URL("../../extensions", import.meta.url));

/**
 * One first-party extension as a package in `dist/extensions`, with its libraries inside. The command gives it Bonsai's
 * packages and zod when it loads it, as it does for every other extension.
 */
function shippedExtension(name: string): UserConfig {
  const manifest = JSON.parse(readFileSync(join(extensionsFolder, name, "package.json"), "utf8"));
  const outDir = `dist/extensions/${name}`;
  const isOwn = (importer: string | undefined) =>
    importer?.startsWith(extensionsFolder) === true && !importer.includes("node_modules");
  return {
    entry: { index: join(extensionsFolder, name, "index.ts") },
    outDir,
    format: "esm",
    platform: "node",
    dts: false,
    fixedExtension: false,
    minify: { compress: true, mangle: true, codegen: false },
    failOnWarn: true,
    deps: { alwaysBundle: [/.*/], onlyBundle: false },
    plugins: [
      {
        name: "host-modules",
        resolveId: {
          order: "pre" as const,
          handler: (source: string, importer: string | undefined) =>
            isOwn(importer) && /^(@bonsai-agent\/(?!permission-gate\/)|zod(\/|$))/.test(source)
              ? { id: source, external: true }
              : null,
        },
      },
      withoutAjv,
      licences,
    ],
    onSuccess() {
      const { version, description, license, type } = manifest;
      const bonsai = { extensions: ["./index.js"] };
      mkdirSync(outDir, { recursive: true });
      const shipped = { name: manifest.name, version, description, license, private: true, type, bonsai };
      writeFileSync(join(outDir, "package.json"), `${JSON.stringify(shipped, null, 2)}\n`);
    },
  };
}

const command: UserConfig = {
  // The others are programs of threads: they have to keep their names, beside the file that begins them.
  entry: {
    main: "src/main.ts",
    "search-worker": "../session/dist/search/search-worker.js",
    "history-worker": "../postgres/dist/history-worker.js",
  },
  format: "esm",
  platform: "node",
  dts: false,
  plugins: [zodOfExtensions, withoutAjv, withoutUnused, licences],
  // The main file of this package requires its parts in a way that no bundler sees.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  // A package that is not built yet would be left out in silence.
  failOnWarn: true,
  // Extensions are given modules that the command itself has loaded; those are in no chunk of their own.
  checks: { ineffectiveDynamicImport: false },
  // Scripts and styles of session pages: the command reads them as text.
  copy: [
    { from: "../page/dist/page-bundle", to: "dist" },
    // A library that reads its WebAssembly file beside itself.
    { from: `${photon}/{package.json,photon_rs.js,photon_rs_bg.wasm}`, to: "dist/photon" },
    // The guides and references, for the built-in skill that answers questions about Bonsai.
    { from: "../../docs/*.md", to: "skills/bonsai/docs" },
    { from: "../../docs/reference/*.md", to: "skills/bonsai/docs/reference" },
  ],
  // Everything is bundled: the published package has no dependencies.
  deps: { alwaysBundle: [/.*/], onlyBundle: false },
};

/** The hook for other agents: it starts at each of their prompts, so it loads nothing else. Modules for require load faster. */
const hook: UserConfig = {
  entry: { hook: "src/hook/hook-main.ts" },
  outDir: "dist/hook",
  format: "cjs",
  checks: { legacyCjs: false },
  platform: "node",
  dts: false,
  minify: { compress: true, mangle: true, codegen: false },
  plugins: [licences],
  failOnWarn: true,
  deps: { alwaysBundle: [/.*/], onlyBundle: false },
};

export default defineConfig([command, hook, ...readdirSync(extensionsFolder).map(shippedExtension)]);
