/** Shapes of pi, for programs that were written for it; loaded when one of them speaks. */
export { PiEvents, type PiModel, type PiStreamEvent, piModel, piSource } from "@bonsai-agent/pi-adapter";
