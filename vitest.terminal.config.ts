import { defineConfig, mergeConfig } from "vitest/config";
import config from "./vitest.config.ts";

const base = config({ mode: "test", command: "serve" });

// `pnpm test:terminal` tests the terminal mode in tmux, which must be installed.
export default mergeConfig(
  { ...base, test: { ...base.test, projects: undefined } },
  defineConfig({ test: { include: ["packages/*/test/**/*.tmux.ts"] } }),
);
