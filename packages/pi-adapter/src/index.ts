export { PiEvents } from "./models/streams.ts";
export { piAdapter, piSource } from "./pi-adapter.ts";
export { piModules } from "./pi-modules.ts";
