import { defineConfig } from "tsdown";

export default defineConfig({
  entry: ["src/main.ts"],
  format: "esm",
  platform: "node",
  dts: false,
  // A package that is not built yet would be left out in silence.
  failOnWarn: true,
  // Extensions are given modules that the command itself has loaded; those are in no chunk of their own.
  checks: { ineffectiveDynamicImport: false },
  // Everything is bundled: the published package has no dependencies.
  deps: { alwaysBundle: [/.*/], onlyBundle: false },
});
