import { defineConfig } from "tsdown";

export default defineConfig({
  entry: ["src/main.ts"],
  format: "esm",
  platform: "node",
  dts: false,
  // A package that is not built yet would be left out in silence.
  failOnWarn: true,
  // Everything is bundled: the published package has no dependencies.
  deps: { alwaysBundle: [/.*/], onlyBundle: false },
});
