export { type PiModel, piModel } from "./models/model.ts";
export { PiEvents, type PiStreamEvent } from "./models/streams.ts";
export { piAdapter, piSource } from "./pi-adapter.ts";
export { piModules } from "./pi-modules.ts";
