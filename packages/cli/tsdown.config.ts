import { defineConfig } from "tsdown";

export default defineConfig({
  entry: ["src/main.ts"],
  format: "esm",
  platform: "node",
  dts: false,
  // Everything is bundled: the published package has no dependencies.
  deps: { alwaysBundle: [/.*/], onlyBundle: false },
});
