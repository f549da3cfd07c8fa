import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

// `pnpm test:terminal`: what `npm test` does on a pseudo terminal, in a window of tmux, which has to be installed.
export default mergeConfig(
  { ...base, test: { ...base.test, projects: undefined } },
  defineConfig({ test: { include: ["packages/*/test/**/*.tmux.ts"] } }),
);
