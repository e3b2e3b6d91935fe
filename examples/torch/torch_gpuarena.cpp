// PyTorch's CUDA memory from gpuarena: one arena a device, in place of PyTorch's caching allocator.
//   make torch TORCH_PYTHON=python3          builds build/libtorch_gpuarena.so for that Python's PyTorch
//   import ctypes, torch
//   ctypes.CDLL("build/libtorch_gpuarena.so").gpuarena_torch_install()      # before the first use of CUDA
//
// Configuration: GPUARENA_CONF, such as GPUARENA_CONF=backing=paged,limit=90%.
// Served: torch.cuda's statistics, snapshots, memory history, OutOfMemoryError with the arena's sentence,
// set_per_process_memory_fraction, record_stream, empty_cache, MemPool, CUDA graphs.
// Not served, and raised as PyTorch raises it: sharing between processes, checkpoints of pools (cudagraph trees of
// torch.compile), user metadata. Of statistics by pool and by size class there is only "all"; counts have no peaks.
// All freed memory is inactive, like memory that waits for its own stream alone in PyTorch: the arena does not tell
// such memory apart from memory that waits for recorded streams.
// Compiled with PyTorch 2.9 and 2.15, between which signatures changed: functions without `override` have both forms.
#define GPUARENA_IMPLEMENTATION
#include "gpuarena.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <atomic>
#include <deque>
#include <map>
#include <set>

namespace {

using namespace c10::cuda::CUDACachingAllocator;
using Base = torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator;
using c10::DeviceIndex;
using c10::MempoolId_t;
using Context = std::shared_ptr<c10::GatheredContext>;

std::string why(const gpuarena* arena = nullptr) {
  gpuarena_failure failure;
  char text[512];
  gpuarena_last_failure(arena, &failure);
  gpuarena_failure_text(&failure, text, sizeof text);
  return text;
}

void check(gpuarena_result result) {
  TORCH_CHECK(result == GPUARENA_OK, "gpuarena: ", why());
}

void drop(void* ptr);

// ---- The data of torch.cuda.memory._record_memory_history, told by the arena's observer

struct History {
  std::mutex mutex;
  std::atomic<bool> enabled{false};
  CreateContextFn gather = nullptr;
  RecordContext when = RecordContext::NEVER;
  size_t most = 0;
  std::map<DeviceIndex, std::deque<TraceEntry>> entries;
  std::map<const void*, Context> live;  // of blocks allocated while it is enabled

  Context context(RecordContext least) {
    return enabled && gather && when >= least ? gather() : nullptr;
  }
};

auto& history = *new History;  // never destroyed, like the allocator below
thread_local Context calling;  // gathered before the arena's lock is taken

void keep(TraceEntry::Action action, const gpuarena_action* told, DeviceIndex device) {
  auto& entries = history.entries[device];
  const gpuarena_block& block = told->block;
  size_t address = action == TraceEntry::OOM ? told->failure->device_free_bytes : (size_t)block.ptr;
  size_t bytes = action == TraceEntry::OOM ? told->failure->requested_bytes : block.bytes;
  entries.emplace_back(action, device, address, bytes, (cudaStream_t)told->stream, MempoolId_t{0, 0},
                       c10::getApproximateTime(), history.when >= RecordContext::ALLOC ? calling : nullptr);
  while (entries.size() > history.most) entries.pop_front();
}

// The arena's lock is held: this must not call it.
void observe(gpuarena*, const gpuarena_action* told, void* user) {
  std::lock_guard<std::mutex> hold(history.mutex);
  auto device = (DeviceIndex)(intptr_t)user;
  switch (told->kind) {
    case GPUARENA_ACTION_ALLOC:
      history.live[told->block.ptr] = calling;
      keep(TraceEntry::ALLOC, told, device);
      break;
    case GPUARENA_ACTION_FREE:
      history.live.erase(told->block.ptr);
      keep(TraceEntry::FREE_REQUESTED, told, device);
      keep(TraceEntry::FREE_COMPLETED, told, device);  // from here on the arena may reuse it, in its streams' order
      break;
    case GPUARENA_ACTION_GROW: keep(TraceEntry::SEGMENT_MAP, told, device); break;
    case GPUARENA_ACTION_RELEASE: keep(TraceEntry::SEGMENT_UNMAP, told, device); break;
    case GPUARENA_ACTION_FAIL:
      if (told->result == GPUARENA_OUT_OF_MEMORY) keep(TraceEntry::OOM, told, device);
      break;
    default: break;
  }
}

// ---- Private pools: memory that is allocated while a pool is open belongs to a capture set

struct Pool {
  int uses = 0;
  uint64_t set = 0;
  uint64_t opened = 0;  // its number among the pools that were opened; 0: it is not open
  std::function<bool(cudaStream_t)> filter;
  std::set<cudaStream_t> streams;  // streams that are in the set now
};

struct Device {
  gpuarena* arena = nullptr;
  double fraction = 1.0;
  std::atomic<uint64_t> ooms{0};
  std::atomic<int> open_pools{0};
  std::mutex mutex;  // of the members below
  std::map<MempoolId_t, Pool> pools;
  uint64_t opened = 0;
  gpuarena_stats since{};  // when the accumulated statistics were reset

  // The stream joins the set of the pool that was opened last among those that want it, and leaves another's.
  void join(cudaStream_t stream) {
    std::lock_guard<std::mutex> hold(mutex);
    Pool* inner = nullptr;
    for (auto& [id, pool] : pools) {
      if (pool.opened > (inner ? inner->opened : 0) && (!pool.filter || pool.filter(stream))) inner = &pool;
    }
    if (!inner || inner->streams.count(stream)) return;
    for (auto& [id, pool] : pools) {
      if (pool.streams.erase(stream)) check(gpuarena_capture_end(arena, stream));
    }
    check(gpuarena_capture_begin(arena, stream, &inner->set));
    inner->streams.insert(stream);
  }
};

gpuarena_result add_block(const gpuarena_block* block, void* user);

struct Allocator final : Base {
  std::deque<Device> devices;  // never moved
  OutOfMemoryObserver on_oom;

  Allocator() : Base([](size_t, int, cudaStream_t) -> void* { return nullptr; },
                     [](void*, size_t, int, cudaStream_t) {}) {}

  void init(int count) override {
    for (int ordinal = (int)devices.size(); ordinal < count; ordinal++) {
      gpuarena_driver driver;
      gpuarena_config config = GPUARENA_INIT;
      snprintf(config.name, sizeof config.name, "torch:%d", ordinal);
      config.environment = "GPUARENA_CONF";
      config.alignment = 512;
      config.driver = &driver;
      check(gpuarena_driver_cuda(ordinal, &driver));
      gpuarena* made = nullptr;
      check(gpuarena_create(&config, &made));
      devices.emplace_back().arena = made;
    }
    initialized_ = true;
  }
  bool initialized() override { return !devices.empty(); }
  std::string name() override { return "gpuarena"; }

  Device& at(DeviceIndex index) {
    TORCH_CHECK(index >= 0 && (size_t)index < devices.size(), "gpuarena: no device ", (int)index);
    return devices[(size_t)index];
  }

  // ---- allocations

  [[noreturn]] void refuse(Device& device, DeviceIndex index) {
    std::string sentence = why(device.arena);
    device.ooms++;
    if (on_oom) {
      gpuarena_stats s;
      gpuarena_device info{};
      gpuarena_get_stats(device.arena, &s);
      gpuarena_get_device(device.arena, &info);
      on_oom(index, s.live_bytes, info.total_bytes, info.free_bytes);
    }
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. ", sentence);
    std::abort();
  }
  void* take(size_t bytes, DeviceIndex index, cudaStream_t stream) {
    Device& device = at(index);
    void* ptr = nullptr;
    if (!bytes) return nullptr;
    if (device.open_pools) device.join(stream);
    calling = history.context(RecordContext::STATE);
    gpuarena_result result = gpuarena_alloc(device.arena, &ptr, bytes, stream);
    if (result == GPUARENA_OUT_OF_MEMORY) refuse(device, index);
    check(result);
    return ptr;
  }
  void* take_here(size_t bytes) {
    DeviceIndex index = c10::cuda::current_device();
    return take(bytes, index, c10::cuda::getCurrentCUDAStream(index));
  }
  c10::DataPtr allocate(size_t bytes) override {
    void* ptr = take_here(bytes);
    return {ptr, ptr, &drop, c10::Device(c10::DeviceType::CUDA, c10::cuda::current_device())};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &drop; }
  void* raw_alloc(size_t bytes) override { return take_here(bytes); }
  void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override {
    return take(bytes, c10::cuda::current_device(), stream);
  }
  void raw_delete(void* ptr) override { drop(ptr); }
  void recordStream(const c10::DataPtr& ptr, c10::cuda::CUDAStream stream) override {
    if (ptr.get() && ptr.get_deleter() == &drop) check(gpuarena_use(gpuarena_owner(ptr.get()), ptr.get(), stream));
  }
  void emptyCache(MempoolId_t = {0, 0}) override {
    for (Device& each : devices) gpuarena_trim(each.arena, 0, nullptr);
  }
  void* getBaseAllocation(void* ptr, size_t* bytes) override {
    gpuarena_block block{};
    gpuarena* owner = gpuarena_owner(ptr);
    TORCH_CHECK(owner, "gpuarena: not memory of an arena");
    check(gpuarena_lookup(owner, ptr, &block));
    if (bytes) *bytes = block.bytes;
    return block.ptr;
  }

  // ---- limits and statistics

  double getMemoryFraction(DeviceIndex index) override { return at(index).fraction; }
  void setMemoryFraction(double fraction, DeviceIndex index) override {
    gpuarena_device info{};
    check(gpuarena_get_device(at(index).arena, &info));
    check(gpuarena_set_limit(at(index).arena, (uint64_t)(fraction * (double)info.total_bytes)));
    at(index).fraction = fraction;
  }
  void cacheInfo(DeviceIndex index, size_t* largest) override {
    gpuarena_stats s;
    gpuarena_walk_stats(at(index).arena, &s);
    *largest = s.largest_free_bytes;
  }

  static void fill(c10::CachingAllocator::StatArray& array, uint64_t current, uint64_t peak, uint64_t allocated = 0,
                   uint64_t freed = 0) {
    auto& all = array[(size_t)c10::CachingAllocator::StatType::AGGREGATE];
    all.current = (int64_t)current;
    all.peak = (int64_t)peak;
    all.allocated = (int64_t)allocated;
    all.freed = (int64_t)freed;
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex index) override {
    gpuarena_stats s;
    c10::CachingDeviceAllocator::DeviceStats out;
    const gpuarena_stats& since = at(index).since;
    gpuarena_get_stats(at(index).arena, &s);
    uint64_t taken = s.alloc_count - since.alloc_count, freed = s.free_count - since.free_count;
    fill(out.allocation, s.live_count, s.live_count, taken, freed);
    fill(out.active, s.live_count, s.live_count, taken, freed);
    fill(out.requested_bytes, s.requested_bytes, s.requested_peak_bytes);
    fill(out.allocated_bytes, s.live_bytes, s.live_peak_bytes);
    fill(out.active_bytes, s.live_bytes, s.live_peak_bytes);
    fill(out.inactive_split_bytes, s.stranded_bytes, s.stranded_bytes);
    fill(out.reserved_bytes, s.reserved_bytes, s.reserved_peak_bytes);
    out.num_ooms = (int64_t)at(index).ooms;
    out.num_device_alloc = (int64_t)(s.grow_count - since.grow_count);
    out.num_device_free = (int64_t)(s.release_count - since.release_count);
    out.num_sync_all_streams = (int64_t)(s.gpu_wait_count - since.gpu_wait_count);
    return out;
  }
  void resetAccumulatedStats(DeviceIndex index) override {
    gpuarena_get_stats(at(index).arena, &at(index).since);
    at(index).ooms = 0;
  }
  void resetPeakStats(DeviceIndex index) override { gpuarena_reset_peaks(at(index).arena); }

  // ---- snapshots and history

  SnapshotInfo snapshot(MempoolId_t id) { return snapshot(id, true); }
  SnapshotInfo snapshot(MempoolId_t, bool include_traces) {
    c10::ApproximateClockToUnixTimeConverter clock;
    auto unix_time = clock.makeConverter();
    SnapshotInfo out;
    for (size_t index = 0; index < devices.size(); index++) {
      std::vector<SegmentInfo> segments;
      gpuarena_walk(devices[index].arena, add_block, &segments);
      std::lock_guard<std::mutex> hold(history.mutex);
      for (SegmentInfo& each : segments) {
        size_t address = each.address;
        for (auto& block : each.blocks) {
          auto found = history.live.find((const void*)address);
          if (found != history.live.end()) block.context_when_allocated = found->second;
          address += block.size;
        }
        each.device = (DeviceIndex)index;
        out.segments.push_back(std::move(each));
      }
      std::vector<TraceEntry> trace;
      if (include_traces) {
        auto& entries = history.entries[(DeviceIndex)index];
        trace.assign(entries.begin(), entries.end());
      }
      for (TraceEntry& entry : trace) entry.time_.t_ = unix_time(entry.time_.approx_t_) / 1000;
      out.device_traces.push_back(std::move(trace));
    }
    return out;
  }

  void recordHistory(bool enabled, CreateContextFn gather, size_t most, RecordContext when, bool clear) {
    recordHistory(enabled, gather, most, when, clear, {});
  }
  void recordHistory(bool enabled, CreateContextFn gather, size_t most, RecordContext when, bool clear,
                     const std::vector<std::string>& skipped) {
    TORCH_CHECK(skipped.empty(), "gpuarena: all actions are recorded, or none");
    {
      std::lock_guard<std::mutex> hold(history.mutex);
      history.enabled = enabled;
      history.gather = gather;
      history.when = enabled ? when : RecordContext::NEVER;
      history.most = most;
      if (clear || !enabled) history.entries.clear();
      if (!enabled) history.live.clear();
    }
    for (size_t index = 0; index < devices.size(); index++) {
      check(gpuarena_observe(devices[index].arena, enabled ? observe : nullptr, (void*)(intptr_t)index));
    }
  }
  bool isHistoryEnabled() override { return history.enabled; }
  void attachOutOfMemoryObserver(OutOfMemoryObserver observer) override { on_oom = std::move(observer); }

  // ---- pools

  void createOrIncrefPool(DeviceIndex index, MempoolId_t id, CUDAAllocator*) { add_use(index, id); }
  void createOrIncrefPool(DeviceIndex index, MempoolId_t id, std::shared_ptr<CUDAAllocator>) { add_use(index, id); }
  void add_use(DeviceIndex index, MempoolId_t id) {
    std::lock_guard<std::mutex> hold(at(index).mutex);
    at(index).pools[id].uses++;
  }
  // Called with false when a pool ends.
  void setUseOnOOM(DeviceIndex index, MempoolId_t id) { setUseOnOOM(index, id, true); }
  void setUseOnOOM(DeviceIndex, MempoolId_t, bool wanted) {
    TORCH_CHECK(!wanted, "gpuarena: a pool's memory serves its pool alone (use_on_oom)");
  }
  int getPoolUseCount(DeviceIndex index, MempoolId_t id) override {
    std::lock_guard<std::mutex> hold(at(index).mutex);
    auto found = at(index).pools.find(id);
    return found == at(index).pools.end() ? 0 : found->second.uses;
  }
  void beginAllocateToPool(DeviceIndex index, MempoolId_t id, std::function<bool(cudaStream_t)> filter) override {
    Device& device = at(index);
    std::lock_guard<std::mutex> hold(device.mutex);
    Pool& pool = device.pools[id];
    TORCH_CHECK(!pool.opened, "gpuarena: this pool is in use already");
    pool.uses++;
    pool.filter = std::move(filter);
    pool.opened = ++device.opened;
    device.open_pools++;
  }
  void endAllocateToPool(DeviceIndex index, MempoolId_t id) override {
    Device& device = at(index);
    std::lock_guard<std::mutex> hold(device.mutex);
    Pool& pool = device.pools[id];
    if (!pool.opened) return;
    for (cudaStream_t stream : pool.streams) check(gpuarena_capture_end(device.arena, stream));
    pool.streams.clear();
    pool.opened = 0;
    device.open_pools--;
  }
  void releasePool(DeviceIndex index, MempoolId_t id) override {
    Device& device = at(index);
    std::lock_guard<std::mutex> hold(device.mutex);
    auto found = device.pools.find(id);
    if (found == device.pools.end() || --found->second.uses > 0) return;
    if (found->second.set) {
      check(gpuarena_capture_release(device.arena, found->second.set, c10::cuda::getCurrentCUDAStream(index)));
    }
    device.pools.erase(found);
  }
};

// Never destroyed: PyTorch's last tensors outlive static objects.
auto& self = *new std::shared_ptr<Allocator>;

// PyTorch frees on the stream of the allocation; recordStream has named all other streams before.
void drop(void* ptr) {
  if (!ptr) return;
  gpuarena* owner = gpuarena_owner(ptr);
  calling = history.context(RecordContext::ALL);
  if (owner && gpuarena_free(owner, ptr, GPUARENA_OWN_STREAM) == GPUARENA_OK) return;
  TORCH_WARN("gpuarena: ", owner ? why() : "not memory of an arena");
}

// Adjacent blocks that have memory form a segment, and so does each run of a paged arena's pages.
gpuarena_result add_block(const gpuarena_block* block, void* user) {
  auto& segments = *(std::vector<SegmentInfo>*)user;
  size_t address = (size_t)block->ptr;
  if (block->state == GPUARENA_STATE_HOLE) return GPUARENA_OK;
  if (segments.empty() || segments.back().address + segments.back().total_size != address) {
    segments.emplace_back();
    segments.back().address = address;
    segments.back().is_large = segments.back().is_expandable = true;
  }
  SegmentInfo& segment = segments.back();
  BlockInfo info;
  info.size = block->bytes;
  info.requested_size = block->requested_bytes;
  info.allocated = block->state == GPUARENA_STATE_LIVE;
  info.active = info.allocated;
  segment.total_size += info.size;
  segment.requested_size += info.requested_size;
  segment.allocated_size += info.allocated ? info.size : 0;
  segment.active_size += info.active ? info.size : 0;
  segment.blocks.push_back(std::move(info));
  return GPUARENA_OK;
}

}  // namespace

// Installs the allocator. 0, or 1 and a line on stderr: CUDA was used already.
extern "C" __attribute__((visibility("default"))) int gpuarena_torch_install() {
  try {
    auto made = std::make_shared<Allocator>();
    torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(made);
    self = made;
    return 0;
  } catch (const c10::Error& e) {
    fprintf(stderr, "gpuarena: %s\n", e.what_without_backtrace());
    return 1;
  }
}

// Writes the arena's own statistics, a line "field value" each; torch.cuda has only some of them. 1: there is no such
// device, or the text is too long.
extern "C" __attribute__((visibility("default"))) int gpuarena_torch_stats(int device, char* text, size_t bytes) {
  gpuarena_stats s;
  size_t length = 0;
  if (!self || device < 0 || (size_t)device >= self->devices.size()) return 1;
  gpuarena_get_stats(self->devices[(size_t)device].arena, &s);
#define GPUARENA_TORCH_FIELD(field)                                                                  \
  if (length < bytes) {                                                                             \
    length += (size_t)snprintf(text + length, bytes - length, "%s %llu\n", #field, (unsigned long long)s.field); \
  }
  GPUARENA_STATS(GPUARENA_TORCH_FIELD)
#undef GPUARENA_TORCH_FIELD
  return length < bytes ? 0 : 1;
}
