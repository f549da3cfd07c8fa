import { defineConfig, mergeConfig } from "vitest/config";
import config from "./vitest.config.ts";

const base = config({ mode: "test", command: "serve" });

// `pnpm test:terminal`: what `npm test` does on a pseudo terminal, in a window of tmux, which has to be installed.
export default mergeConfig(
  { ...base, test: { ...base.test, projects: undefined } },
  defineConfig({ test: { include: ["packages/*/test/**/*.tmux.ts"] } }),
);
