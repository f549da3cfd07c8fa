import { readFileSync } from "node:fs";
import { defineConfig } from "tsdown";

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

export default defineConfig({
  // The second is the program of a thread: it has to keep its name, beside the file that begins it.
  entry: { main: "src/main.ts", "search-worker": "../session/dist/full-text/search-worker.js" },
  format: "esm",
  platform: "node",
  dts: false,
  plugins: [zodOfExtensions],
  // A package that is not built yet would be left out in silence.
  failOnWarn: true,
  // Extensions are given modules that the command itself has loaded; those are in no chunk of their own.
  checks: { ineffectiveDynamicImport: false },
  // What the pages of sessions run, and how they look: read as text, never loaded.
  copy: [{ from: "../page/dist/page-bundle", to: "dist" }],
  // Everything is bundled: the published package has no dependencies.
  deps: { alwaysBundle: [/.*/], onlyBundle: false },
});
