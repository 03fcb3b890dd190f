#include "schedule/schedule.h"

namespace refit {

std::string_view to_string(OpKind kind) {
  switch (kind) {
    case OpKind::transfer:
      return "transfer";
    case OpKind::all_gather:
      return "all_gather";
    case OpKind::broadcast:
      return "broadcast";
    case OpKind::compute:
      return "compute";
    case OpKind::barrier:
      return "barrier";
  }
  return "?";
}

std::string_view to_string(Work work) {
  switch (work) {
    case Work::none:
      return "none";
    case Work::export_tensors:
      return "export_tensors";
    case Work::yield:
      return "yield";
    case Work::stream:
      return "stream";
    case Work::assemble:
      return "assemble";
    case Work::host:
      return "host";
    case Work::pull:
      return "pull";
    case Work::pause:
      return "pause";
    case Work::resume:
      return "resume";
    case Work::describe:
      return "describe";
    case Work::pack:
      return "pack";
    case Work::stack:
      return "stack";
    case Work::call:
      return "call";
    case Work::land:
      return "land";
    case Work::load:
      return "load";
    case Work::fixed:
      return "fixed";
    case Work::convert:
      return "convert";
    case Work::scan:
      return "scan";
    case Work::encode:
      return "encode";
    case Work::decode:
      return "decode";
    case Work::apply:
      return "apply";
  }
  return "?";
}

}  // namespace refit
