console.log("bonsai");
