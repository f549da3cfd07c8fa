// Loaded before `bonsai`, which then starts at the time BONSAI_PICTURES_AT: ages and dates are the same in each picture.
const shiftMs = Date.parse(process.env.BONSAI_PICTURES_AT!) - Date.now();

globalThis.Date = new Proxy(Date, {
  construct: (target, given, self) =>
    Reflect.construct(target, given.length === 0 ? [target.now() + shiftMs] : given, self),
  get: (target, name, self) =>
    name === "now" ? () => target.now() + shiftMs : Reflect.get(target, name, self),
});
